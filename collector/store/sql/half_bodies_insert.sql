-- Adds what the halves of one commit know beside their keys.
insert into stored.half_bodies by name
select first_sequence, rows, last_ns, body
from incoming_bodies

-- Reads the bodies of the wanted halves, in order.
with places as (
    select distinct b.first_sequence
    from wanted_halves as w
    asof join stored.half_bodies as b on w.sequence >= b.first_sequence
    where b.first_sequence <= $high and b.first_sequence + b.rows > $low
)
select first_sequence, rows, body
from stored.half_bodies
where first_sequence in (select first_sequence from places)
order by first_sequence

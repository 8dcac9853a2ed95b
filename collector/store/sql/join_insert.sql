-- Adds the joined requests.
insert into stored.requests by name
select *
from joined_requests

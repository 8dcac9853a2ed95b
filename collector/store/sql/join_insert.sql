-- Adds the joined requests.
insert into store.requests by name
select *
from joined_requests

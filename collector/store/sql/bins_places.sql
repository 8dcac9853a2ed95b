-- Numbers the instances and models that the counted requests name, so that bins are added up by number.
create or replace temp table counted_places as
select row_number() over () as place, model, instance
from (
    select distinct model, instance
    from counted_requests
    where instance is not null
)

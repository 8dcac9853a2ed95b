-- Lists the joined requests that have no model yet, oldest first.
select gateway_key, engine_part, cast(epoch_ns(ts) as bigint) as start_ns
from stored.requests
where model is null and (gateway_key is not null or engine_part is not null)
order by ts

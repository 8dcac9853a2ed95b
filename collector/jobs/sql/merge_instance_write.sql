-- Puts the merged counts by instance in their place.
insert into stored.instance_bins by name
select step_seconds, ts, model, instance, cells, counts
from merged_instance
order by step_seconds, instance, ts

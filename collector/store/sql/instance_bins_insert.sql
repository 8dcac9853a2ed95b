-- Adds signed counts by instance and minute.
insert into stored.instance_bins by name
select 60 as step_seconds, ts, model, instance, cells, counts
from incoming_counts

-- Adds groups.
insert into stored.latency_groups by name
select group_id, model, model_version, tenant, length_bucket, region, adapter
from incoming_counts

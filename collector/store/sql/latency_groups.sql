-- Lists the groups that latencies are counted by.
select group_id, model, model_version, tenant, length_bucket, region, adapter
from stored.latency_groups

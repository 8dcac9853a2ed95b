-- Groups of latency bins of one model, tenant and length; each of these that is NULL stands for all.
select group_id, model, model_version, tenant, length_bucket, region, adapter
from stored.latency_groups
where group_id is not null
    and ($model::varchar is null or model = $model)
    and ($tenant::varchar is null or tenant = $tenant)
    and ($length_bucket::varchar is null or length_bucket = $length_bucket)
order by group_id

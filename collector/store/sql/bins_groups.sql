-- Numbers the combinations of dimensions that have no group yet.
insert into stored.latency_groups by name
with wanted as (
    select distinct model, model_version, tenant, length_bucket, region, adapter
    from counted_requests
),
missing as (
    select w.model, w.model_version, w.tenant, w.length_bucket, w.region, w.adapter
    from wanted as w
    where not exists (
        select 1
        from stored.latency_groups as g
        where
            g.model is not distinct from w.model
            and g.model_version is not distinct from w.model_version
            and g.tenant is not distinct from w.tenant
            and g.length_bucket is not distinct from w.length_bucket
            and g.region is not distinct from w.region
            and g.adapter is not distinct from w.adapter
    )
)
select
    (select coalesce(max(group_id), 0) from stored.latency_groups) + row_number() over () as group_id,
    model, model_version, tenant, length_bucket, region, adapter
from missing

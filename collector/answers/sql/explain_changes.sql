-- Changes that may touch a model, up to the end of a window.
select
    ts,
    kind,
    model_version,
    pool,
    instance,
    region,
    tenant,
    summary,
    external_id
from changes
where ts >= $low and ts < $high and (model is null or model = $model)
order by ts

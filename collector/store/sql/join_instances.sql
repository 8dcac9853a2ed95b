-- Tells what the scrapes of each instance say it is.
select
    instance,
    any_value(pool) as pool,
    any_value(role) as role,
    any_value(engine) as engine,
    any_value(region) as region,
    max_by(model_version, started_at) as model_version
from stored.instances
group by instance

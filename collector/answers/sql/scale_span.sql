-- From when to when engines were sampled, and how many pools there are.
select min(ts) as first, max(ts) as last, count(distinct (model, coalesce(role, 'both'), region, pool)) as pools
from engine_samples
where ts <= $now and model is not null

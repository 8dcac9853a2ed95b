-- Every model that has requests or samples.
select distinct model
from (
    select model from requests
    union all select model from engine_samples
)
where model is not null
order by model

-- Every model that was sampled or requested.
select distinct model
from (select model from engine_samples union all select model from requests)
where model is not null
order by model

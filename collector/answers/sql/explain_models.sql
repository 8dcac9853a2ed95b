-- Every model that requests or pages name.
select distinct model from requests where model is not null
union
select distinct model from engine_samples where model is not null
order by model

-- First and last time that requests and pages of a model were recorded, up to now.
select
    (select min(ts) from requests where model = $model and ts <= $now) as first_request,
    (select max(ts) from requests where model = $model and ts <= $now) as last_request,
    (select min(ts) from engine_samples where model = $model and ts <= $now) as first_page,
    (select max(ts) from engine_samples where model = $model and ts <= $now) as last_page

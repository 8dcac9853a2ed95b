-- Incidents with their explanations, newest first.
select
    incident, model, metric, started_at, ended_at, stage, cause, confidence, document, human_verdict, human_note
from incidents
where $model is null or model = $model
order by started_at desc
limit $limit

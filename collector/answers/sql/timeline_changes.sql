-- What was changed in the window, for marks on the charts.
select ts, kind, model, instance, summary
from changes
where ts >= $start and ts < $end and ($model is null or model is null or model = $model)
order by ts
limit 200

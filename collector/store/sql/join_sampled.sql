-- When each model of each instance was sampled first and last.
select instance, model, cast(epoch_ns(min(ts)) as bigint) as first_ns, cast(epoch_ns(max(ts)) as bigint) as last_ns
from stored.engine_samples
where model is not null and scrape_state <> 'failed'
group by instance, model

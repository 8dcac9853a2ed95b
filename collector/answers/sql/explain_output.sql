-- Output tokens of a model and instances that made them, by the time step in which requests finished.
select
    epoch_us(finished_at) // ($step * 1000000) as step,
    sum(output_tokens)::double as tokens,
    count(distinct instance)::double as instances
from requests
where model = $model and finished_at >= $low and finished_at < $high
group by all

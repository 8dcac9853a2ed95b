-- Arrivals of one model in a span of time (public traces and the like), in order.
select ts, input_tokens, output_tokens, session
from arrivals
where model = $model and ts > $since and ts <= $now
order by ts

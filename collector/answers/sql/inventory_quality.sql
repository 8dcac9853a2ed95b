-- What was wrong with what came in, the most frequent first.
select kind, source, first_at, last_at, count, example
from data_quality
order by count desc
limit 50

-- Requests and mean lengths by length bucket.
select
    length_bucket as bucket,
    count(*)::double as requests,
    avg(input_tokens)::double as input_tokens,
    avg(output_tokens)::double as output_tokens
from requests
where ts between $since and $until and ($model::varchar is null or model = $model)
  and length_bucket is not null and output_tokens is not null
group by length_bucket
order by min(input_tokens)

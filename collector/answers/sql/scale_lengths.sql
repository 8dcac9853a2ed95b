-- By step, instance and length bucket: the requests that got their first token, with their tokens.
select
    time_bucket(to_seconds($step_seconds), first_token_at) as step,
    instance,
    length_bucket,
    count(*) as requests,
    count(output_tokens) as told,
    sum(input_tokens) as input_tokens,
    sum(cached_tokens) as cached_tokens,
    count(cached_tokens) as cached_told,
    sum(output_tokens) as output_tokens
from requests
where
    first_token_at > $since
    and first_token_at <= $now
    and model = $model
    and instance is not null
    and length_bucket is not null
group by 1, instance, length_bucket
order by 1, instance, length_bucket

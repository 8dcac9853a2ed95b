-- Answer lengths in tokens at chosen percentiles.
select
    count(output_tokens)::double as requests,
    quantile_cont(output_tokens, [0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1])::double[] as tokens
from requests
where ts between $since and $until and ($model::varchar is null or model = $model) and output_tokens is not null

-- Tokens by tenant, the twenty largest by name.
with tenants as (
    select
        coalesce(tenant, 'unattributed') as tenant,
        sum(coalesce(input_tokens, 0) + coalesce(output_tokens, 0)) as tokens,
        row_number() over (order by sum(coalesce(input_tokens, 0) + coalesce(output_tokens, 0)) desc) as place
    from requests
    where ts between $since and $until and ($model::varchar is null or model = $model)
    group by 1
),
span as (
    select (epoch(max(ts)) - epoch(min(ts))) / 86400 as days from requests
    where ts between $since and $until and ($model::varchar is null or model = $model)
)
select
    case when place <= 20 then tenant else 'others' end as tenant,
    sum(tokens)::double / nullif(any_value(days), 0) as tokens_per_day
from tenants, span
group by 1
order by tokens_per_day desc

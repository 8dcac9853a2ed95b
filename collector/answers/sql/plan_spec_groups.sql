-- Decode time and tokens by block of time, with speculation on and off (the instance's group, else the request's drafts).
with groups as (
    select instance, max_by(value, ts) >= 0.5 as speculating
    from signal_samples
    where signal = 'speculation_enabled' and ts between $since and $until
    group by instance
),
answers as (
    select
        least(cast(floor((epoch(ts) - epoch($since::timestamptz)) / $block_seconds) as int), $blocks - 1) as block,
        coalesce(speculating, spec_draft_tokens > 0) as speculating,
        e2e_seconds - ttft_seconds as decode_seconds,
        output_tokens - 1 as decode_tokens
    from requests
    left join groups using (instance)
    where ts between $since and $until and ($model::varchar is null or model = $model) and output_tokens > 1
)
select
    block,
    case when speculating then 'on' else 'off' end as kind,
    sum(decode_seconds) as decode_seconds,
    sum(decode_tokens)::double as decode_tokens
from answers
where speculating is not null and decode_seconds is not null
group by all
order by kind, block

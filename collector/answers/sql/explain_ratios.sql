-- Units and bad units of a ratio metric by time step: prompt tokens not cached, drafted tokens not accepted.
select
    epoch_us(ts) // ($step * 1000000) as step,
    sum(case when $metric = 'kv_hit' then input_tokens else spec_draft_tokens end)::double as total,
    sum(
        case
            when $metric = 'kv_hit' then input_tokens - cached_tokens
            else spec_draft_tokens - spec_accepted_tokens
        end
    )::double as bad
from requests
where
    model = $model and ts >= $low and ts < $high
    and case
        when $metric = 'kv_hit' then input_tokens > 0 and cached_tokens is not null
        else spec_draft_tokens > 0 and spec_accepted_tokens is not null
    end
group by all

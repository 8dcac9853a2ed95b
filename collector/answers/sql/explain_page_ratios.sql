-- Units and bad units of a ratio metric by time step and instance, as engines counted them.
select
    epoch_us(ts) // ($step * 1000000) as step,
    instance,
    sum(case when $metric = 'kv_hit' then prefix_query_tokens else spec_draft_tokens end)::double as total,
    sum(
        case
            when $metric = 'kv_hit' then prefix_query_tokens - prefix_hit_tokens
            else spec_draft_tokens - spec_accepted_tokens
        end
    )::double as bad
from engine_samples
where
    model = $model and ts >= $low and ts < $high
    and case
        when $metric = 'kv_hit' then prefix_query_tokens > 0 and prefix_hit_tokens is not null
        else spec_draft_tokens > 0 and spec_accepted_tokens is not null
    end
group by all

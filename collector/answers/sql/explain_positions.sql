-- Accepted draft tokens of a model by time step and position (1 = first), with the drafting of the same scrapes.
with told as (
    select
        epoch_us(ts) // ($step * 1000000) as step,
        spec_drafts,
        spec_draft_tokens,
        spec_accepted_by_position as accepted
    from engine_samples
    where model = $model and ts >= $low and ts < $high and spec_accepted_by_position is not null and spec_drafts > 0
),

placed as (
    select
        step,
        spec_drafts,
        spec_draft_tokens,
        unnest(range(1, len(accepted) + 1)) as position,
        unnest(accepted) as accepted
    from told
)

select
    step,
    position,
    sum(spec_drafts)::double as drafts,
    sum(spec_draft_tokens)::double as drafted,
    sum(accepted)::double as accepted
from placed
group by all

-- Drafts, draft tokens and accepted tokens by model version, the twenty most used.
select
    coalesce(model_version, 'unknown') as version,
    sum(spec_accepted_tokens) / sum(spec_drafts) as accepted_per_step,
    sum(spec_draft_tokens) / sum(spec_drafts) as draft_tokens
from engine_samples
where ts between $since and $until and ($model::varchar is null or model = $model) and spec_drafts > 0
group by 1
order by sum(spec_drafts) desc
limit 20

-- Sums over requests of 64,000 tokens and more by block of time, with squares for attention work.
with long as (
    select
        least(cast(floor((epoch(ts) - epoch($since::timestamptz)) / $block_seconds) as int), $blocks - 1) as block,
        input_tokens, cached_tokens, prefill_seconds, turn
    from requests
    where ts between $since and $until and ($model::varchar is null or model = $model) and input_tokens >= 64000
)
select
    block,
    count(*)::double as requests,
    sum(input_tokens)::double as input_tokens,
    (sum(input_tokens) filter (where turn = 1))::double as document_tokens,
    (count(*) filter (where turn = 1))::double as documents,
    count(turn)::double as turns,
    (sum(input_tokens - cached_tokens) filter (where turn > 1))::double as question_tokens,
    (count(cached_tokens) filter (where turn > 1))::double as questions,
    sum(prefill_seconds) filter (where coalesce(cached_tokens, 0) = 0) as prefill_seconds,
    (sum(input_tokens) filter (where prefill_seconds is not null and coalesce(cached_tokens, 0) = 0))::double
        as prefilled_tokens,
    (sum(input_tokens::double * input_tokens)
        filter (where prefill_seconds is not null and coalesce(cached_tokens, 0) = 0)) as prefilled_squares
from long
group by block
order by block

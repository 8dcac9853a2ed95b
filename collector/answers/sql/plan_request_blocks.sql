-- Sums over requests by block of time: lengths, cache, times, tries, classes and drafts, each with its row count.
with turns as (
    select
        least(cast(floor((epoch(ts) - epoch($since::timestamptz)) / $block_seconds) as int), $blocks - 1) as block,
        input_tokens, cached_tokens, output_tokens, ttft_seconds, e2e_seconds, prefill_seconds, gateway_seconds,
        attempts, class, structured, turn, spec_draft_tokens, spec_accepted_tokens
    from requests
    where ts between $since and $until and ($model::varchar is null or model = $model)
)
select
    block,
    $block_seconds::double as block_seconds,
    count(*)::double as requests,
    sum(input_tokens)::double as input_tokens,
    count(input_tokens)::double as input_rows,
    sum(output_tokens)::double as output_tokens,
    count(output_tokens)::double as output_rows,
    sum(input_tokens + output_tokens)::double as context_tokens,
    count(input_tokens + output_tokens)::double as context_rows,
    (sum(cached_tokens) filter (where input_tokens is not null))::double as cached_tokens,
    (sum(input_tokens) filter (where cached_tokens is not null))::double as cacheable_tokens,
    sum(e2e_seconds) as e2e_seconds,
    count(e2e_seconds)::double as e2e_rows,
    sum(e2e_seconds - ttft_seconds) filter (where output_tokens > 1) as decode_seconds,
    (sum(output_tokens - 1) filter (where output_tokens > 1 and e2e_seconds is not null and ttft_seconds is not null))
        ::double as decode_tokens,
    sum(prefill_seconds) filter (where input_tokens is not null) as prefill_seconds,
    (sum(input_tokens - coalesce(cached_tokens, 0)) filter (where prefill_seconds is not null))::double
        as prefilled_tokens,
    sum(gateway_seconds) as gateway_seconds,
    count(gateway_seconds)::double as gateway_rows,
    (sum(attempts - 1) filter (where attempts >= 1))::double as retries,
    (count(*) filter (where class = 'deferrable'))::double as deferrable,
    count(class)::double as class_rows,
    (count(*) filter (where structured))::double as structured,
    sum(e2e_seconds) filter (where structured) as structured_seconds,
    (count(e2e_seconds) filter (where structured))::double as structured_rows,
    (count(*) filter (where turn = 1))::double as first_turns,
    count(turn)::double as turn_rows
from turns
group by block
order by block

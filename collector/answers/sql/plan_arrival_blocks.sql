-- Sums of lengths over arrivals by block of time, for stores that hold a trace and no requests.
select
    least(cast(floor((epoch(ts) - epoch($since::timestamptz)) / $block_seconds) as int), $blocks - 1) as block,
    sum(input_tokens)::double as input_tokens,
    count(input_tokens)::double as input_rows,
    sum(output_tokens)::double as output_tokens,
    count(output_tokens)::double as output_rows
from arrivals
where ts between $since and $until and ($model::varchar is null or model = $model)
group by block
order by block

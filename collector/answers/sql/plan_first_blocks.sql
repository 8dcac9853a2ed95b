-- How many requests share the most common first prefix block, of all requests with blocks.
with firsts as (
    select prefix_hashes[1] as first_block, count(*) as requests
    from requests
    where ts between $since and $until and ($model::varchar is null or model = $model) and len(prefix_hashes) > 0
    group by first_block
)
select coalesce(max(requests), 0)::double as hottest, coalesce(sum(requests), 0)::double as requests from firsts

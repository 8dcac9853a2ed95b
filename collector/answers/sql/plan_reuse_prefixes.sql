-- Time from each use of a prefix block to its next use, in logarithmic bins, where no session is known.
with size as (
    -- Of more than two million uses, every use of one block in so many is enough.
    select greatest(1, cast(sum(len(prefix_hashes)) / 2e6 as ubigint)) as one_in
    from requests
    where ts between $since and $until and ($model::varchar is null or model = $model) and session is null
),
every_use as (
    select ts, unnest(prefix_hashes) as block_hash
    from requests
    where ts between $since and $until and ($model::varchar is null or model = $model)
      and session is null and len(prefix_hashes) > 0
),
uses as (
    select ts, block_hash from every_use, size where hash(block_hash) % one_in = 0
),
ordered as (
    select
        ts,
        lead(ts) over (partition by block_hash order by ts) as next_ts,
        row_number() over (partition by block_hash order by ts) as use
    from uses
)
select
    case when use = 1 then 'first' else 'later' end as kind,
    next_ts is not null as returned,
    cast(floor(10 * ln(greatest(epoch(coalesce(next_ts, $until)) - epoch(ts), 0.001))) as bigint) as bin,
    count(*)::double as turns
from ordered
group by all
order by kind, bin

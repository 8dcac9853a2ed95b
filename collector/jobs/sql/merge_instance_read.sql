-- Adds up the signed counts by instance of periods that have closed.
create or replace temp table merged_instance as
with spread as (
    select step_seconds, ts, model, instance, unnest(cells) as cell, unnest(counts) as count
    from stored.instance_bins
    where ts >= $reopened and ts < $closed
),
summed as (
    select step_seconds, ts, model, instance, cell, cast(sum(count) as integer) as count
    from spread
    group by all
    having sum(count) <> 0
)
select
    step_seconds, ts, model, instance, list(cell order by cell) as cells, list(count order by cell) as counts
from summed
group by step_seconds, ts, model, instance

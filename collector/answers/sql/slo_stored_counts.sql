-- Sums stored counts of one objective revision by dimensions and look-back ring, with the span they cover.
select
    len(list_filter(cast($starts as timestamptz[]), lambda opening: ts >= opening)) as ring,
    model, tenant, length_bucket, model_version, region, adapter,
    cast(sum(good) as bigint) as good,
    cast(sum(bad) as bigint) as bad,
    cast(sum(excluded) as bigint) as excluded,
    cast(sum(unattributed_bad) as bigint) as unattributed_bad,
    bool_and(exact) as exact,
    min(ts) as oldest,
    max(ts) as newest
from objective_counts
where objective = $objective and revision = $revision
    and ts >= cast($since as timestamptz) and ts < cast($until as timestamptz)
group by all
order by 1, 2, 3, 4, 5, 6, 7

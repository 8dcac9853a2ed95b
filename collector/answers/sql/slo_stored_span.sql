-- The first and the last minute that is stored for one objective revision.
select min(ts) as oldest, max(ts) as newest
from objective_counts
where objective = $objective and revision = $revision
    and ts >= cast($since as timestamptz) and ts < cast($until as timestamptz)

-- Newest time of the tables that planners read.
select max(ts) as ts
from (
    select max(ts) as ts from requests
    union all select max(ts) from arrivals
    union all select max(ts) from engine_samples
    union all select max(ts) from signal_samples
)

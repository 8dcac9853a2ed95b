-- The newest time that any request or sample carries.
select max(ts) as ts
from (
    select max(ts) as ts from requests
    union all select max(finished_at) as ts from requests
    union all select max(ts) as ts from engine_samples
    union all select max(ts) as ts from gpu_samples
    union all select max(ts) as ts from host_samples
    union all select max(ts) as ts from signal_samples
    union all select max(ts) as ts from arrivals
)

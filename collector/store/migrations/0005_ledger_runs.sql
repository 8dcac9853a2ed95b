-- The ledger keeps runs of batches as one row; coverage sets side by side what was recorded and counted in one minute.

-- All sequences from `sequence` to `upto` are stored; NULL: this one.
alter table stored.ledger add column if not exists upto BIGINT;

create or replace view coverage as
with recorded as (
    select time_bucket(interval 1 minute, coalesce(finished_at, ts)) as ts, model, count(*) as recorded
    from requests
    where source in ('engine', 'joined', 'log', 'import')
    group by all
),
-- What a scrape counts happened before it: it belongs to the minute that holds the middle of its interval.
counted as (
    select
        time_bucket(
            interval 1 minute,
            ts - to_microseconds(greatest(1, cast(round(coalesce(interval_seconds, 0) * 5e5) as bigint)))
        ) as ts,
        model, sum(finished) as counted
    from engine_samples
    where model is not null and (finished is not null or interval_seconds is not null or scrape_state <> 'ok')
    group by all
)
select
    coalesce(counted.ts, recorded.ts) as ts,
    coalesce(counted.model, recorded.model) as model,
    coalesce(recorded.recorded, 0) as recorded,
    counted.counted,
    coalesce(recorded.recorded, 0) / nullif(counted.counted, 0) as coverage
from counted
full join recorded on recorded.ts = counted.ts and recorded.model is not distinct from counted.model;

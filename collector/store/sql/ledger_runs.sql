-- Finds the runs of numbered batches that were received before $closed and have more than one row.
create or replace temp table ledger_runs as
with numbered as (
    select
        agent, epoch, sequence, coalesce(upto, sequence) as upto, received_at,
        lag(coalesce(upto, sequence)) over (partition by agent, epoch order by sequence) as earlier
    from stored.ledger
    where
        received_at < $closed
        and not (starts_with(agent, 'remote-write/') or starts_with(agent, 'otlp/'))
),
marked as (
    select
        agent, epoch, sequence, upto, received_at,
        sum(case when earlier = sequence - 1 then 0 else 1 end)
            over (partition by agent, epoch order by sequence rows unbounded preceding) as run
    from numbered
)
select agent, epoch, min(sequence) as sequence, max(upto) as upto, max(received_at) as received_at
from marked
group by agent, epoch, run
having count(*) > 1

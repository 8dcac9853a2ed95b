-- Lists the runs of sequences that are stored, by sender.
with numbered as (
    select
        agent, epoch, sequence, coalesce(upto, sequence) as upto,
        lag(coalesce(upto, sequence)) over (partition by agent, epoch order by sequence) as earlier
    from stored.ledger
),
marked as (
    select
        agent, epoch, sequence, upto,
        sum(case when earlier = sequence - 1 then 0 else 1 end)
            over (partition by agent, epoch order by sequence rows unbounded preceding) as run
    from numbered
)
select agent, epoch, min(sequence) as first, max(upto) as last
from marked
group by agent, epoch, run
order by agent, epoch, first

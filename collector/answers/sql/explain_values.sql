-- Requests of a model by time step and logarithmic bin of one latency; failures are above every bin.
with valued as (
    select
        epoch_us(ts) // ($step * 1000000) as step,
        case
            when status in ('error', 'timeout', 'rejected') then 'infinity'::double
            when status = 'aborted' and $metric in ('ttft', 'goodput') then coalesce(ttft_seconds, e2e_seconds, 'infinity'::double)
            when $metric = 'tpot' then tpot_seconds
            when $metric in ('e2e', 'throughput', 'cost') then e2e_seconds
            else ttft_seconds
        end as seconds
    from requests
    where model = $model and ts >= $low and ts < $high and status not in ('client_error', 'rate_limited')
)

select
    step,
    case
        when isinf(seconds) then 100000
        when seconds <= 1e-6 then -100000
        else ceil(ln(seconds) / ln(1.05))
    end::bigint as bin,
    count(*) as count
from valued
where seconds is not null
group by all

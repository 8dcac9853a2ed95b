-- Adds the imported requests; what follows from other columns is not stored.
insert into stored.requests by name
select
    * exclude (first_token_at, finished_at, tpot_seconds),
    case
        when first_token_at is distinct from ts + to_microseconds(cast(round(ttft_seconds * 1e6) as bigint))
        then first_token_at
    end as told_first_token_at,
    case
        when finished_at is distinct from ts + to_microseconds(cast(round(e2e_seconds * 1e6) as bigint))
        then finished_at
    end as told_finished_at,
    case
        when tpot_seconds is distinct from
            case when output_tokens > 1 then (e2e_seconds - ttft_seconds) / (output_tokens - 1) end
        then tpot_seconds
    end as told_tpot_seconds
from imported_requests

-- Adds imported requests: derives what follows from other columns, leaves the rest as it came.
create or replace temp table imported_requests as
select
    cast(null as ubigint) as gateway_key,
    cast(null as ubigint) as engine_part,
    r.* exclude (request_id, length_bucket, tpot_seconds, status, source, first_token_at, finished_at),
    coalesce(r.request_id, 'import-' || md5(cast(r as varchar))) as request_id,
    coalesce(r.length_bucket, length_bucket(r.input_tokens)) as length_bucket,
    coalesce(
        r.tpot_seconds,
        case when r.output_tokens > 1 then (r.e2e_seconds - r.ttft_seconds) / (r.output_tokens - 1) end
    ) as tpot_seconds,
    coalesce(r.status, 'ok') as status,
    coalesce(r.source, 'import') as source,
    coalesce(r.first_token_at, r.ts + to_microseconds(cast(round(r.ttft_seconds * 1e6) as bigint))) as first_token_at,
    coalesce(r.finished_at, r.ts + to_microseconds(cast(round(r.e2e_seconds * 1e6) as bigint))) as finished_at,
    cast(null as bigint) as gateway_input_tokens,
    cast(null as bigint) as gateway_output_tokens
from incoming_rows as r

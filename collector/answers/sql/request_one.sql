-- The requests of one request id or trace id, the newest first.
select
    ts, first_token_at, finished_at, request_id, trace_id, model, requested_model, model_version, tenant, domain,
    "class", region, pool, instance, prefill_instance, role, engine, adapter, attempts, input_tokens, cached_tokens,
    output_tokens, length_bucket, queue_seconds, prefill_seconds, transfer_seconds, decode_seconds, gateway_seconds,
    ttft_seconds, tpot_seconds, e2e_seconds, engine_ttft_seconds, engine_e2e_seconds, status, finish_reason,
    structured, temperature, spec_draft_tokens, spec_accepted_tokens, session, turn, source
from requests
where request_id = $request_id or trace_id = $request_id
order by ts desc
limit 20

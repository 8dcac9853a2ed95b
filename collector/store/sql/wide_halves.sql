-- Reads the next halves of the wide table.
select
    half_sequence, side, key, part, name, start_ns, end_ns, trace_id, match, alias, request_id, model,
    requested_model, model_version, tenant, tenant_id, domain, request_class, region, instance,
    prefill_instance, engine, adapter, attempts, input_tokens, cached_tokens, output_tokens,
    queue_seconds, prefill_seconds, transfer_seconds, decode_seconds, ttft_seconds, e2e_seconds,
    status, finish_reason, structured, temperature, spec_draft_tokens, spec_accepted_tokens,
    session, turn, prefix_hashes
from stored.wide_halves
where half_sequence > $after
order by half_sequence
limit $most

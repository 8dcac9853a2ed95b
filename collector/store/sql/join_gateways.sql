-- Collects the touched gateway requests that have one part; those of several are merged next.
create or replace temp table joining_gateways as
select
    t.gateway_key,
    h.start_ns,
    h.end_ns,
    h.trace_id,
    h.match,
    h.request_id,
    h.name,
    h.model,
    h.requested_model,
    h.tenant,
    h.tenant_id,
    h.domain,
    h.request_class,
    h.region,
    nullif(h.attempts, 0) as attempts,
    h.input_tokens,
    h.cached_tokens,
    h.output_tokens,
    h.start_ns + cast(h.ttft_seconds * 1e9 as bigint) as first_token_ns,
    h.e2e_seconds,
    h.status,
    h.finish_reason,
    h.temperature,
    h.session,
    h.turn
from touched_parts as t
join stored.halves as h on h.half_sequence = t.half_sequence
where not t.merged

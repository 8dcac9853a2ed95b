-- Collects the engine halves that stand alone; spans with log lines are merged next.
create or replace temp table joining_engines as
with aliases as (
    select alias, min(instance) as instance
    from instance_aliases
    group by alias
)
select
    m.engine_part,
    h.start_ns,
    h.end_ns,
    h.side,
    h.trace_id,
    h.match,
    h.request_id,
    h.name,
    h.model,
    h.requested_model,
    h.model_version,
    coalesce(h.tenant, h.tenant_id) as tenant,
    h.domain,
    h.request_class,
    h.region,
    coalesce(served.instance, h.instance) as instance,
    coalesce(filled.instance, h.prefill_instance) as prefill_instance,
    h.engine,
    h.adapter,
    h.input_tokens,
    h.cached_tokens,
    h.output_tokens,
    h.queue_seconds,
    h.prefill_seconds,
    h.transfer_seconds,
    h.decode_seconds,
    h.ttft_seconds,
    h.e2e_seconds,
    h.status,
    h.finish_reason,
    h.structured,
    h.temperature,
    h.spec_draft_tokens,
    h.spec_accepted_tokens,
    h.session,
    h.turn,
    h.prefix_hashes
from joining_members as m
join stored.halves as h on h.half_sequence = m.half_sequence
left join aliases as served on served.alias = h.instance
left join aliases as filled on filled.alias = h.prefill_instance
where not m.merged

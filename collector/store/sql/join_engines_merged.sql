-- Merges each engine span with its log lines into one row.
insert into joining_engines by name
with aliases as (
    select alias, min(instance) as instance
    from instance_aliases
    group by alias
)
select
    m.engine_part,
    min_by(start_ns, side) as start_ns,
    max_by(end_ns, side = 'engine') as end_ns,
    max(side) as side,
    max(trace_id) as trace_id,
    max(match) as match,
    max(request_id) as request_id,
    max_by(name, h.part = m.engine_part) as name,
    max(model) as model,
    max(requested_model) as requested_model,
    max(model_version) as model_version,
    max(coalesce(tenant, tenant_id)) as tenant,
    max(domain) as domain,
    max(request_class) as request_class,
    max(region) as region,
    max(coalesce(served.instance, h.instance)) as instance,
    max(coalesce(filled.instance, h.prefill_instance)) as prefill_instance,
    max(engine) as engine,
    max(adapter) as adapter,
    max(input_tokens) as input_tokens,
    max(cached_tokens) as cached_tokens,
    max(output_tokens) as output_tokens,
    max_by(queue_seconds, side = 'engine') as queue_seconds,
    max_by(prefill_seconds, side = 'engine') as prefill_seconds,
    max_by(transfer_seconds, side = 'engine') as transfer_seconds,
    max_by(decode_seconds, side = 'engine') as decode_seconds,
    max_by(ttft_seconds, side = 'engine') as ttft_seconds,
    max_by(e2e_seconds, side = 'engine') as e2e_seconds,
    max_by(status, status <> 'ok') as status,
    max(finish_reason) as finish_reason,
    bool_or(structured) as structured,
    max(temperature) as temperature,
    max(spec_draft_tokens) as spec_draft_tokens,
    max(spec_accepted_tokens) as spec_accepted_tokens,
    max(session) as session,
    max(turn) as turn,
    any_value(prefix_hashes) as prefix_hashes
from joining_members as m
join stored.halves as h on h.half_sequence = m.half_sequence
left join aliases as served on served.alias = h.instance
left join aliases as filled on filled.alias = h.prefill_instance
where m.merged
group by m.engine_part

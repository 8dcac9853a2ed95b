-- Collects the engine halves that are new or belong to a touched gateway request; a log line joins its span.
create or replace temp table joining_engines as
with wanted as (
    select h.*
    from stored.halves as h
    where
        h.side <> 'gateway'
        and h.start_ns between $low and $high
        and (
            h.half_sequence > $after
            or h.match in (select match from joining_gateways where match is not null)
            or h.trace_id in (select trace_id from joining_gateways where trace_id is not null)
            or ($retouch and h.part in (select engine_part from stored.requests where model is null))
        )
),
twins as (
    select log.part as log_part, min_by(span.part, abs(span.start_ns - log.start_ns)) as span_part
    from stored.halves as log
    join stored.halves as span on
        span.match = log.match
        and span.side = 'engine'
        and log.side = 'log'
        and span.instance is not distinct from log.instance
        and abs(span.start_ns - log.start_ns) < 60000000000
    where
        (log.part in (select part from wanted) or span.part in (select part from wanted))
        and log.start_ns between $low and $high
        and span.start_ns between $low and $high
    group by log.part
),
aliases as (
    select alias, min(instance) as instance
    from instance_aliases
    group by alias
),
members as (
    select
        coalesce(twins.span_part, h.part) as engine_part,
        h.* replace (
            coalesce(served.instance, h.instance) as instance,
            coalesce(filled.instance, h.prefill_instance) as prefill_instance
        )
    from stored.halves as h
    left join twins on twins.log_part = h.part
    left join aliases as served on served.alias = h.instance
    left join aliases as filled on filled.alias = h.prefill_instance
    where
        h.side <> 'gateway'
        and h.start_ns between $low and $high
        and (
            h.part in (select part from wanted)
            or h.part in (select span_part from twins)
            or h.part in (select log_part from twins)
        )
)
select
    engine_part,
    min_by(start_ns, side) as start_ns,
    max_by(end_ns, side = 'engine') as end_ns,
    max(side) as side,
    max(trace_id) as trace_id,
    max(match) as match,
    max(request_id) as request_id,
    max(model) as model,
    max(requested_model) as requested_model,
    max(model_version) as model_version,
    max(coalesce(tenant, tenant_id)) as tenant,
    max(domain) as domain,
    max(request_class) as request_class,
    max(region) as region,
    max(instance) as instance,
    max(prefill_instance) as prefill_instance,
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
from members
group by engine_part

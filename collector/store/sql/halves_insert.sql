-- Adds request halves whose part is not yet stored; a sender that retries sends the same part again.
insert into stored.halves by name
with named as (
    select
        n.* replace (
            case when n.side = 'gateway' then md5_number_lower(n.key) end as key,
            md5_number_lower(n.part) as part,
            md5_number_lower(n.alias) as alias
        ),
        case
            when n.match is not null or n.request_id is not null then null
            when n.side = 'gateway' then n.key
            else n.part
        end as name
    from incoming_halves as n
)
select
    nextval('stored.half_sequence') as half_sequence,
    n.side, n.key, n.part, n.name, n.start_ns, n.end_ns, n.trace_id, n.match, n.alias, n.request_id, n.model,
    n.requested_model, n.model_version, n.tenant, n.tenant_id, n.domain, n.request_class, n.region, n.instance,
    n.prefill_instance, n.engine, n.adapter, n.attempts, n.input_tokens, n.cached_tokens, n.output_tokens,
    n.queue_seconds, n.prefill_seconds, n.transfer_seconds, n.decode_seconds, n.ttft_seconds, n.e2e_seconds,
    n.status, n.finish_reason, n.structured, n.temperature, n.spec_draft_tokens, n.spec_accepted_tokens,
    n.session, n.turn, n.prefix_hashes
from named as n
where not exists (
    select 1
    from stored.halves as o
    where
        o.part = n.part
        and o.start_ns between $low and $high
)

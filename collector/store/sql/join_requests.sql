-- Builds the request rows of everything touched: joined, gateway only, engine only; to a microsecond.
create or replace temp table joined_requests as
with served as (
    select p.gateway_key, p.tries, e.*
    from joining_engines as e
    left join joining_pairs as p on p.engine_part = e.engine_part
    where p.served or p.engine_part is null
),
known as (
    select
        g.gateway_key, e.engine_part, e.tries, coalesce(g.start_ns, e.start_ns) as start_ns,
        e.start_ns >= g.start_ns and not coalesce(g.end_ns > g.start_ns and e.start_ns > g.end_ns, false)
            as clocks_agree,
        g.trace_id as gateway_trace, g.match as gateway_match, g.request_id as gateway_request_id,
        g.name as gateway_name, e.name as engine_name,
        g.model as gateway_model, g.requested_model as gateway_requested, g.tenant as gateway_tenant, g.tenant_id,
        g.domain as gateway_domain, g.request_class as gateway_class, g.region as gateway_region, g.attempts,
        g.input_tokens as gateway_input_tokens, g.output_tokens as gateway_output_tokens,
        g.cached_tokens as gateway_cached_tokens,
        g.e2e_seconds as gateway_e2e, g.status as gateway_status, g.finish_reason as gateway_finish,
        g.temperature as gateway_temperature, g.session as gateway_session, g.turn as gateway_turn,
        e.side, e.trace_id as engine_trace, e.match as engine_match, e.request_id as engine_request_id,
        e.model as engine_model, e.requested_model as engine_requested, e.model_version, e.tenant as engine_tenant,
        e.domain as engine_domain, e.request_class as engine_class, e.region as engine_region, e.instance,
        e.prefill_instance, e.engine, e.adapter, e.input_tokens, e.cached_tokens, e.output_tokens, e.queue_seconds,
        e.prefill_seconds, e.transfer_seconds, e.decode_seconds, e.ttft_seconds as engine_ttft_seconds,
        e.e2e_seconds as engine_e2e_seconds, e.status as engine_status, e.finish_reason as engine_finish,
        e.structured, e.temperature as engine_temperature, e.spec_draft_tokens, e.spec_accepted_tokens,
        e.session as engine_session, e.turn as engine_turn, e.prefix_hashes,
        round(case
            when g.first_token_ns is not null then (g.first_token_ns - g.start_ns) / 1e9
            when g.gateway_key is null then e.ttft_seconds
            when clocks_agree then (e.start_ns - g.start_ns) / 1e9 + e.ttft_seconds
            else e.ttft_seconds
        end, 6) as ttft_seconds,
        round(coalesce(g.e2e_seconds, e.e2e_seconds), 6) as e2e_seconds
    from joining_gateways as g
    full join served as e on e.gateway_key = g.gateway_key
    where
        e.engine_part is not null or g.model is not null or g.tenant is not null or g.tenant_id is not null
        or g.match is not null or g.status not in ('ok', 'aborted')
),
named as (
    select
        k.*,
        coalesce(
            k.engine_model,
            (
                select any_value(m.model)
                from sampled as m
                where m.instance = k.instance
                having count(distinct m.model) = 1
            ),
            case when k.engine_part is null then k.gateway_model end,
            (
                select any_value(m.model)
                from sampled as m
                where k.start_ns between m.first_ns - 60000000000 and m.last_ns + 60000000000
                having count(distinct m.model) = 1
            ),
            k.gateway_model
        ) as served_model
    from known as k
)
select
    n.gateway_key,
    n.engine_part,
    make_timestamptz(n.start_ns // 1000) as ts,
    make_timestamptz(n.start_ns // 1000 + cast(round(n.ttft_seconds * 1e6) as bigint)) as first_token_at,
    make_timestamptz(n.start_ns // 1000 + cast(round(n.e2e_seconds * 1e6) as bigint)) as finished_at,
    coalesce(
        n.gateway_request_id, n.engine_match, n.engine_request_id, n.gateway_match, n.gateway_name, n.engine_name
    ) as request_id,
    coalesce(n.gateway_trace, n.engine_trace) as trace_id,
    n.served_model as model,
    coalesce(n.gateway_requested, n.engine_requested) as requested_model,
    coalesce(n.model_version, i.model_version) as model_version,
    coalesce(
        case when $tenant_from = 'team_id' then n.tenant_id else n.gateway_tenant end,
        n.tenant_id, n.gateway_tenant, n.engine_tenant
    ) as tenant,
    coalesce(n.gateway_domain, n.engine_domain) as domain,
    coalesce(n.gateway_class, n.engine_class) as "class",
    coalesce(n.engine_region, i.region, n.gateway_region) as region,
    i.pool as pool,
    n.instance,
    n.prefill_instance,
    i.role as role,
    coalesce(n.engine, i.engine) as engine,
    coalesce(
        n.adapter,
        case when n.engine_part is not null and n.gateway_model <> n.served_model then n.gateway_model end
    ) as adapter,
    case when n.gateway_key is not null then greatest(coalesce(n.attempts, 1), n.tries) end as attempts,
    coalesce(n.input_tokens, n.gateway_input_tokens) as input_tokens,
    coalesce(n.cached_tokens, n.gateway_cached_tokens) as cached_tokens,
    coalesce(n.output_tokens, n.gateway_output_tokens) as output_tokens,
    length_bucket(coalesce(n.input_tokens, n.gateway_input_tokens)) as length_bucket,
    round(n.queue_seconds, 6) as queue_seconds,
    round(n.prefill_seconds, 6) as prefill_seconds,
    round(n.transfer_seconds, 6) as transfer_seconds,
    round(n.decode_seconds, 6) as decode_seconds,
    case
        when n.clocks_agree and n.engine_ttft_seconds is not null
        then round(greatest(0, n.ttft_seconds - n.engine_ttft_seconds), 6)
    end as gateway_seconds,
    n.ttft_seconds,
    case
        when coalesce(n.output_tokens, n.gateway_output_tokens) > 1
        then (n.e2e_seconds - n.ttft_seconds) / (coalesce(n.output_tokens, n.gateway_output_tokens) - 1)
    end as tpot_seconds,
    n.e2e_seconds,
    round(n.engine_ttft_seconds, 6) as engine_ttft_seconds,
    round(n.engine_e2e_seconds, 6) as engine_e2e_seconds,
    coalesce(n.gateway_status, n.engine_status, 'ok') as status,
    coalesce(n.engine_finish, n.gateway_finish) as finish_reason,
    n.structured,
    coalesce(n.engine_temperature, n.gateway_temperature) as temperature,
    n.spec_draft_tokens,
    n.spec_accepted_tokens,
    coalesce(n.gateway_session, n.engine_session) as session,
    coalesce(n.gateway_turn, n.engine_turn) as turn,
    n.prefix_hashes,
    case
        when n.gateway_key is not null and n.engine_part is not null then 'joined'
        when n.gateway_key is not null then 'gateway'
        else n.side
    end as source,
    n.gateway_input_tokens,
    n.gateway_output_tokens
from named as n
left join (
    select
        instance,
        any_value(pool) as pool,
        any_value(role) as role,
        any_value(engine) as engine,
        any_value(region) as region,
        max_by(model_version, started_at) as model_version
    from stored.instances
    group by instance
) as i on i.instance = n.instance

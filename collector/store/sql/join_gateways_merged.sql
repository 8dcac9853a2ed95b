-- Merges the parts of each gateway request that came in several into one row.
select
    h.gateway_key,
    min(start_ns) as start_ns,
    max(end_ns) as end_ns,
    any_value(trace_id) as trace_id,
    max(match) as match,
    max(request_id) as request_id,
    max_by(name, owns) as name,
    max(model) as model,
    max_by(requested_model, (model is not null, start_ns)) as requested_model,
    max(tenant) as tenant,
    max(tenant_id) as tenant_id,
    max(domain) as domain,
    max(request_class) as request_class,
    max(region) as region,
    max_by(instance, start_ns) as instance,
    max_by(prefill_instance, start_ns) as prefill_instance,
    cast(
        nullif(greatest(
            sum(coalesce(attempts, 0)) filter (where not is_line),
            max(attempts) filter (where is_line)  -- a log line, which counts them itself
        ), 0) as integer
    ) as attempts,
    max(input_tokens) as input_tokens,
    max(cached_tokens) as cached_tokens,
    max(output_tokens) as output_tokens,
    max(start_ns + cast(ttft_seconds * 1e9 as bigint)) as first_token_ns,
    max(e2e_seconds) as e2e_seconds,
    max_by(
        status,
        case status
            when 'ok' then 0 when 'client_error' then 1 when 'rate_limited' then 2 when 'aborted' then 3
            when 'rejected' then 4 when 'timeout' then 5 else 6
        end
    ) as status,
    max(finish_reason) as finish_reason,
    max(temperature) as temperature,
    max(session) as session,
    max(turn) as turn
from joining_parts as h
group by h.gateway_key

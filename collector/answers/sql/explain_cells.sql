-- Sums over a model's requests in the window and in its baseline steps, by every dimension.
with valued as (
    select
        case when ts >= $start and ts < $end then 'during' else 'before' end as phase,
        ts,
        first_token_at,
        finished_at,
        instance,
        prefill_instance,
        tenant,
        length_bucket,
        model_version,
        adapter,
        region,
        domain,
        structured,
        turn,
        temperature,
        status,
        attempts,
        source,
        input_tokens,
        cached_tokens,
        output_tokens,
        queue_seconds,
        prefill_seconds,
        transfer_seconds,
        decode_seconds,
        gateway_seconds,
        ttft_seconds,
        e2e_seconds,
        spec_draft_tokens,
        spec_accepted_tokens,
        coalesce(
            gateway_seconds,
            case when engine_ttft_seconds is not null then greatest(ttft_seconds - engine_ttft_seconds, 0) end
        ) as gateway,
        input_tokens - coalesce(cached_tokens, 0) as computed,
        case when output_tokens > 1 then coalesce(tpot_seconds, (e2e_seconds - ttft_seconds) / (output_tokens - 1)) end
            as pace,
        case
            when status in ('error', 'timeout', 'rejected') then 'infinity'::double
            when status = 'aborted' and $metric in ('ttft', 'goodput')
                then coalesce(ttft_seconds, e2e_seconds, 'infinity'::double)
            when $metric = 'tpot' then tpot_seconds
            when $metric in ('e2e', 'throughput', 'cost') then e2e_seconds
            else ttft_seconds
        end as seconds,
        (queue_seconds is not null or prefill_seconds is not null) and ttft_seconds is not null as staged,
        case
            when $metric = 'kv_hit' then case when cached_tokens is not null then input_tokens end
            when $metric = 'acceptance' then case when spec_accepted_tokens is not null then spec_draft_tokens end
            when seconds is not null then 1
        end as units,
        case
            when $metric = 'kv_hit' then input_tokens - cached_tokens
            when $metric = 'acceptance' then spec_draft_tokens - spec_accepted_tokens
            when seconds > $threshold then 1
            when seconds is not null then 0
        end as bad_units
    from requests
    where
        model = $model and status not in ('client_error', 'rate_limited')
        and (
            (ts >= $low and ts < $high)
            or (ts >= $day_low and ts < $day_high)
            or (ts >= $week_low and ts < $week_high)
        )
        and (
            (ts >= $start and ts < $end)
            or epoch_us(ts) // ($step * 1000000) in (select unnest($before::bigint[]))
        )
)

select
    phase,
    instance,
    tenant,
    length_bucket,
    model_version,
    adapter,
    region,
    domain,
    structured::varchar as structured,
    prefill_instance,
    case
        when $metric <> 'kv_hit' or turn is null then null
        when turn <= 1 then 'first'
        else 'later'
    end as turn,
    case
        when $metric <> 'acceptance' or temperature is null then null
        when temperature = 0 then 'zero'
        when temperature < 0.7 then 'low'
        else 'high'
    end as temperature,
    case
        when $metric <> 'acceptance' or cached_tokens is null then null
        when cached_tokens > 0.5 * input_tokens then 'mostly'
        else 'hardly'
    end as cached,
    count(*)::double as requests,
    sum(units)::double as events,
    sum(bad_units)::double as bad,
    count(*) filter (where bad_units > 0)::double as bad_requests,
    sum(ttft_seconds) as ttft_sum,
    count(ttft_seconds)::double as ttft_known,
    count(*) filter (where staged)::double as staged,
    sum(ttft_seconds) filter (where staged) as staged_ttft_sum,
    sum(gateway) filter (where staged) as staged_gateway_sum,
    sum(gateway) as gateway_sum,
    count(gateway)::double as gateway_known,
    sum(queue_seconds) as queue_sum,
    count(queue_seconds)::double as queue_known,
    sum(prefill_seconds) as prefill_sum,
    count(prefill_seconds)::double as prefill_known,
    sum(computed) filter (where prefill_seconds is not null)::double as prefill_tokens,
    sum(coalesce(queue_seconds, 0) + coalesce(prefill_seconds, 0))
        filter (where queue_seconds is not null or prefill_seconds is not null) as engine_sum,
    count(*) filter (where queue_seconds is not null or prefill_seconds is not null)::double as engine_known,
    sum(transfer_seconds) as transfer_sum,
    count(transfer_seconds)::double as transfer_known,
    sum(coalesce(decode_seconds, e2e_seconds - ttft_seconds)) filter (where output_tokens > 1) as decode_sum,
    count(coalesce(decode_seconds, e2e_seconds - ttft_seconds)) filter (where output_tokens > 1)::double as decode_known,
    sum(output_tokens - 1)
        filter (where output_tokens > 1 and coalesce(decode_seconds, e2e_seconds - ttft_seconds) is not null)::double
        as decode_tokens,
    sum(prefill_seconds) filter (where bad_units = 0) as good_prefill_sum,
    sum(computed) filter (where bad_units = 0 and prefill_seconds is not null)::double as good_prefill_tokens,
    count(prefill_seconds) filter (where bad_units = 0)::double as good_prefill_known,
    sum(pace) as pace_sum,
    sum(pace * pace) as pace_squares,
    count(pace)::double as pace_known,
    sum(ttft_seconds) filter (where bad_units > 0 and staged) as bad_ttft_sum,
    count(*) filter (where bad_units > 0 and staged)::double as bad_staged,
    sum(gateway) filter (where bad_units > 0) as bad_gateway_sum,
    count(gateway) filter (where bad_units > 0)::double as bad_gateway_known,
    sum(ttft_seconds) filter (where bad_units > 0 and gateway is not null) as bad_gateway_ttft_sum,
    sum(queue_seconds) filter (where bad_units > 0 and staged) as bad_queue_sum,
    sum(prefill_seconds) filter (where bad_units > 0 and staged) as bad_prefill_sum,
    sum(transfer_seconds) filter (where bad_units > 0 and staged) as bad_transfer_sum,
    sum(decode_seconds) filter (where bad_units > 0 and staged) as bad_decode_sum,
    sum(e2e_seconds) as e2e_sum,
    count(e2e_seconds)::double as e2e_known,
    sum(input_tokens)::double as input_tokens,
    count(input_tokens)::double as sized,
    sum(input_tokens::double * input_tokens) as input_squares,
    sum(computed)::double as computed_tokens,
    sum(cached_tokens)::double as cached_tokens,
    sum(input_tokens) filter (where cached_tokens is not null)::double as cached_of,
    sum(output_tokens)::double as output_tokens,
    count(output_tokens)::double as output_known,
    sum(output_tokens::double * output_tokens) as output_squares,
    sum(spec_draft_tokens) filter (where spec_accepted_tokens is not null)::double as draft_tokens,
    sum(spec_accepted_tokens)::double as accepted_tokens,
    count(*) filter (where status in ('error', 'timeout', 'rejected'))::double as failed,
    count(*) filter (where attempts > 1)::double as retried,
    count(*) filter (
        where ttft_seconds > e2e_seconds + 0.05
        or gateway_seconds < -0.01
        or first_token_at < ts
        or finished_at < first_token_at
        or abs(epoch_us(first_token_at) - epoch_us(ts) - 1e6 * ttft_seconds) > 1e6 + 0.2e6 * ttft_seconds
    )::double as incoherent,
    count(*) filter (where source in ('gateway', 'joined'))::double as from_gateway
from valued
group by all

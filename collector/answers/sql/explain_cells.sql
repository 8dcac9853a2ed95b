-- Sums over a model's requests in the window and in its baseline steps, by every dimension.
with valued as (
    select
        ts >= $start and ts < $end as during,
        instance,
        prefill_instance,
        tenant,
        length_bucket,
        model_version,
        adapter,
        region,
        domain,
        structured,
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
        input_tokens::double as input_tokens,
        cached_tokens::double as cached_tokens,
        output_tokens::double as output_tokens,
        -- Who exports one of the two and the whole tells the other.
        coalesce(
            queue_seconds,
            case when engine_ttft_seconds - prefill_seconds is not null
                then greatest(engine_ttft_seconds - prefill_seconds - coalesce(transfer_seconds, 0), 0) end
        ) as queue_seconds,
        coalesce(
            prefill_seconds,
            case when engine_ttft_seconds - queue_seconds is not null
                then greatest(engine_ttft_seconds - queue_seconds - coalesce(transfer_seconds, 0), 0) end
        ) as prefill_seconds,
        transfer_seconds,
        case when output_tokens > 1 then coalesce(decode_seconds, e2e_seconds - ttft_seconds) end as decode_seconds,
        ttft_seconds,
        e2e_seconds,
        spec_draft_tokens::double as drafted,
        spec_accepted_tokens::double as accepted,
        coalesce(
            gateway_seconds,
            case when engine_ttft_seconds is not null then greatest(ttft_seconds - engine_ttft_seconds, 0) end
        ) as gateway,
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
        case
            when $metric = 'kv_hit' then case when cached_tokens is not null then input_tokens end
            when $metric = 'acceptance' then case when spec_accepted_tokens is not null then spec_draft_tokens end
            when seconds is not null then 1
        end::double as units,
        case
            when $metric = 'kv_hit' then input_tokens - cached_tokens
            when $metric = 'acceptance' then spec_draft_tokens - spec_accepted_tokens
            when seconds > $threshold then 1
            when seconds is not null then 0
        end::double as bad_units,
        attempts > 1 as retried,
        source in ('gateway', 'joined') as from_gateway,
        ttft_seconds > e2e_seconds + 0.05
        or gateway_seconds < -0.01
        or first_token_at < ts
        or finished_at < first_token_at
        or abs(epoch_us(first_token_at) - epoch_us(ts) - 1e6 * ttft_seconds) > 1e6 + 0.2e6 * ttft_seconds as incoherent
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
),

-- What is known of a request, and whether it was bad, is the same for nearly all: with that in the key, each figure is
-- summed once instead of once for every question about it.
alike as (
    select
        during,
        instance,
        tenant,
        length_bucket,
        model_version,
        adapter,
        region,
        domain,
        structured,
        prefill_instance,
        turn,
        temperature,
        cached,
        bad_units > 0 as bad,
        ttft_seconds is not null as has_ttft,
        gateway is not null as has_gateway,
        queue_seconds is not null as has_queue,
        prefill_seconds is not null as has_prefill,
        transfer_seconds is not null as has_transfer,
        decode_seconds is not null as has_decode,
        pace is not null as has_pace,
        e2e_seconds is not null as has_e2e,
        input_tokens is not null as has_input,
        cached_tokens is not null as has_cached,
        output_tokens is not null as has_output,
        accepted is not null as has_accepted,
        has_ttft and (has_queue or has_prefill) as staged,
        retried,
        from_gateway,
        incoherent,
        count(*) as requests,
        sum(units) as units,
        sum(bad_units) as bad_units,
        sum(ttft_seconds) as ttft,
        sum(gateway) as gateway,
        sum(queue_seconds) as queued,
        sum(prefill_seconds) as prefill,
        sum(transfer_seconds) as transfer,
        sum(decode_seconds) as decode,
        sum(pace) as pace,
        sum(pace * pace) as pace_squares,
        sum(e2e_seconds) as e2e,
        sum(input_tokens) as input_tokens,
        sum(input_tokens * input_tokens) as input_squares,
        sum(cached_tokens) as cached_tokens,
        sum(input_tokens) - coalesce(sum(cached_tokens), 0) as computed,
        sum(output_tokens) as output_tokens,
        sum(output_tokens * output_tokens) as output_squares,
        sum(drafted) as drafted,
        sum(accepted) as accepted
    from valued
    group by all
)

select
    case when during then 'during' else 'before' end as phase,
    instance,
    tenant,
    length_bucket,
    model_version,
    adapter,
    region,
    domain,
    structured::varchar as structured,
    prefill_instance,
    turn,
    temperature,
    cached,
    sum(requests)::double as requests,
    sum(units) as events,
    sum(bad_units) as bad,
    sum(requests) filter (where bad)::double as bad_requests,
    sum(ttft) as ttft_sum,
    sum(requests) filter (where has_ttft)::double as ttft_known,
    sum(requests) filter (where staged)::double as staged,
    sum(ttft) filter (where staged) as staged_ttft_sum,
    sum(gateway) filter (where staged) as staged_gateway_sum,
    sum(gateway) as gateway_sum,
    sum(requests) filter (where has_gateway)::double as gateway_known,
    sum(queued) as queue_sum,
    sum(requests) filter (where has_queue)::double as queue_known,
    sum(prefill) as prefill_sum,
    sum(requests) filter (where has_prefill)::double as prefill_known,
    sum(computed) filter (where has_prefill) as prefill_tokens,
    sum(coalesce(queued, 0) + coalesce(prefill, 0)) filter (where has_queue or has_prefill) as engine_sum,
    sum(requests) filter (where has_queue or has_prefill)::double as engine_known,
    sum(transfer) as transfer_sum,
    sum(requests) filter (where has_transfer)::double as transfer_known,
    sum(decode) as decode_sum,
    sum(output_tokens - requests) filter (where has_decode) as decode_tokens,
    sum(prefill) filter (where not bad) as good_prefill_sum,
    sum(computed) filter (where has_prefill and not bad) as good_prefill_tokens,
    sum(requests) filter (where has_prefill and not bad)::double as good_prefill_known,
    sum(pace) as pace_sum,
    sum(pace_squares) as pace_squares,
    sum(requests) filter (where has_pace)::double as pace_known,
    sum(ttft) filter (where bad and staged) as bad_ttft_sum,
    sum(requests) filter (where bad and staged)::double as bad_staged,
    sum(gateway) filter (where bad) as bad_gateway_sum,
    sum(requests) filter (where bad and has_gateway)::double as bad_gateway_known,
    sum(ttft) filter (where bad and has_gateway) as bad_gateway_ttft_sum,
    sum(queued) filter (where bad and staged) as bad_queue_sum,
    sum(prefill) filter (where bad and staged) as bad_prefill_sum,
    sum(transfer) filter (where bad and staged) as bad_transfer_sum,
    sum(decode) filter (where bad and staged) as bad_decode_sum,
    sum(e2e) as e2e_sum,
    sum(requests) filter (where has_e2e)::double as e2e_known,
    sum(input_tokens) as input_tokens,
    sum(requests) filter (where has_input)::double as sized,
    sum(input_squares) as input_squares,
    sum(computed) as computed_tokens,
    sum(cached_tokens) as cached_tokens,
    sum(input_tokens) filter (where has_cached) as cached_of,
    sum(output_tokens) as output_tokens,
    sum(requests) filter (where has_output)::double as output_known,
    sum(output_squares) as output_squares,
    sum(drafted) filter (where has_accepted) as draft_tokens,
    sum(accepted) as accepted_tokens,
    sum(requests) filter (where retried)::double as retried,
    sum(requests) filter (where incoherent)::double as incoherent,
    sum(requests) filter (where from_gateway)::double as from_gateway
from alike
group by all

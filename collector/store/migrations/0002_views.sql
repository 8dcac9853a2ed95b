-- The public schema: views in main over the tables in store, and the macros that people use in SQL.
create macro length_bucket(tokens) as case
    when tokens is null then null
    when tokens < 1000 then '0-1k'
    when tokens < 4000 then '1k-4k'
    when tokens < 16000 then '4k-16k'
    when tokens < 64000 then '16k-64k'
    when tokens < 256000 then '64k-256k'
    when tokens < 1000000 then '256k-1m'
    else '1m+'
end;

create macro latency_bin(seconds) as cast(
    case when seconds > 1e-9 then ceil(ln(seconds) / ln(1.01 / 0.99)) else -2000 end as smallint
);

create macro bin_value(bin) as case when bin <= -2000 then 0.0 else 2 * pow(1.01 / 0.99, bin) / (1.01 / 0.99 + 1) end;

create macro bin_quantile(bins, counts, q) as (
    with pairs as (select unnest(bins) as b, unnest(counts) as n),
    merged as (select b, sum(n) as n from pairs group by b having sum(n) > 0),
    ranked as (select b, sum(n) over (order by b) as reached, sum(n) over () as total from merged)
    select bin_value(min(b)) from ranked where reached >= ceil(q * total)
);

create view requests as
select
    ts, first_token_at, finished_at, request_id, trace_id, model, requested_model, model_version, tenant,
    domain, "class", region, pool, instance, prefill_instance, role, engine, adapter, attempts, input_tokens,
    cached_tokens, output_tokens, length_bucket, queue_seconds, prefill_seconds, transfer_seconds,
    decode_seconds, gateway_seconds, ttft_seconds, tpot_seconds, e2e_seconds, engine_ttft_seconds,
    engine_e2e_seconds, status, finish_reason, structured, temperature, spec_draft_tokens, spec_accepted_tokens,
    session, turn, prefix_hashes, source, gateway_input_tokens, gateway_output_tokens
from stored.requests;

create view arrivals as
select
    ts, model, tenant, session, input_tokens, output_tokens, prefix_hashes
from stored.arrivals;

create view engine_samples as
select
    ts, interval_seconds, instance, model, role, engine, engine_version, model_version, pool, region,
    scrape_state, queue_depth, queue_max, running, kv_usage_ratio, kv_usage_max_ratio, adapters_running,
    adapters_waiting, prompt_tokens, generation_tokens, prefix_query_tokens, prefix_hit_tokens,
    external_hit_tokens, preemptions, steps, step_tokens, step_seconds, first_tokens, finished, rejected,
    queue_seconds_sum, prefill_seconds_sum, spec_drafts, spec_draft_tokens, spec_accepted_tokens,
    spec_accepted_by_position, grammar_seconds, kv_transfer_bytes, kv_transfer_seconds
from stored.engine_samples;

create view engine_bins as
with bins as (
    select h.ts, h.interval_seconds, h.instance, h.model, h.metric, e.edges, h.counts, unnest(range(len(h.counts))) as i
    from stored.engine_histograms as h
    join stored.edge_sets as e on e.edge_set = h.edge_set
)
select
    ts, interval_seconds, instance, model, metric,
    case when i = 0 then 0.0 else edges[i] end as edge_lo,
    edges[i + 1] as edge_hi,
    counts[i + 1] as count
from bins
where counts[i + 1] <> 0
union all
select ts, interval_seconds, instance, model, metric, edge_lo, edge_hi, count
from stored.imported_bins;

create view latency_bins as
select
    b.ts, b.step_seconds, b.metric, g.model, g.model_version, g.tenant, g.length_bucket, g.region, g.adapter,
    cast((b.key & 8191) - 2000 as smallint) as bin, cast(b.count as bigint) as count
from stored.latency_bins as b
join stored.latency_groups as g on g.group_id = cast(b.key >> 39 as integer);

create view instance_bins as
select
    ts, step_seconds, metric, model, instance, bin, count
from stored.instance_bins;

create view gpu_samples as
select
    ts, host, gpu, "index", mig, instance, sm_active_ratio, sm_active_ratio_max, sm_occupancy_ratio,
    sm_occupancy_ratio_max, tensor_active_ratio, tensor_active_ratio_max, dram_bandwidth_ratio,
    dram_bandwidth_ratio_max, memory_busy_ratio, pcie_tx_bytes_per_second, pcie_rx_bytes_per_second,
    nvlink_tx_bytes_per_second, nvlink_rx_bytes_per_second, memory_used_bytes, memory_total_bytes, power_watts,
    energy_joules, temperature_celsius, sm_clock_mhz, memory_clock_mhz, throttle_reasons, ecc_uncorrected,
    remapped_rows, state, gpm_state
from stored.gpu_samples;

create view gpu_events as
select
    ts, host, gpu, kind, code
from stored.gpu_events;

create view host_samples as
select
    ts, host, cpu_ratio, cpu_pressure_ratio, memory_pressure_ratio, io_pressure_ratio, engine_cpu_ratio,
    nic_rx_bytes_per_second, nic_tx_bytes_per_second, nic_errors, rdma_rx_bytes_per_second,
    rdma_tx_bytes_per_second, rdma_errors, disk_read_bytes_per_second
from stored.host_samples;

create view signal_samples as
select
    ts, instance, model, tenant, length_bucket, signal, attributes, value
from stored.signal_samples;

create view instances as
select
    instance, pool, model, model_version, engine, engine_version, host, region, role, gpu_type, gpu_count,
    kv_capacity_tokens, block_tokens, max_running, started_at, ready_at, draining_at, stopped_at, config
from stored.instances;

create view instance_aliases as
select alias, instance
from stored.instance_aliases
union
select config['worker_id'] as alias, instance
from stored.instances
where config['worker_id'] is not null;

create view changes as
select
    ts, kind, model, model_version, pool, instance, region, tenant, summary, source, external_id
from stored.changes;

create view objective_counts as
select
    ts, objective, revision, model, tenant, length_bucket, model_version, region, adapter, good, bad, excluded,
    unattributed_bad, exact
from stored.objective_counts;

create view recommendations as
select
    ts, pool, model, role, region, current, proposed, action, binding, confidence, valid_until, document, grade
from stored.recommendations;

create view incidents as
select
    incident, model, metric, started_at, ended_at, stage, cause, confidence, document, human_verdict, human_note
from stored.incidents;

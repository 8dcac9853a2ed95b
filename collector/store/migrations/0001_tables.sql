-- The tables behind the public views, the ledger, and the halves that requests are joined from.
create schema stored;

create table stored.ledger (
    agent VARCHAR not null,
    epoch VARCHAR not null,
    sequence BIGINT not null,
    received_at TIMESTAMPTZ not null
);

create table stored.quality (
    ts TIMESTAMPTZ not null,
    source VARCHAR,
    kind VARCHAR not null,
    count BIGINT not null,
    example VARCHAR
);

create sequence stored.half_sequence;

-- `key` (gateway halves only), `part` and `alias` are one half of the MD5 of what the senders call them; `name` is the
-- key or the part itself where nothing else names the request.
create table stored.halves (
    half_sequence BIGINT not null,
    side VARCHAR not null,
    key UBIGINT,
    part UBIGINT not null,
    name VARCHAR,
    start_ns BIGINT not null,
    end_ns BIGINT,
    trace_id VARCHAR,
    match VARCHAR,
    alias UBIGINT,
    request_id VARCHAR,
    model VARCHAR,
    requested_model VARCHAR,
    model_version VARCHAR,
    tenant VARCHAR,
    tenant_id VARCHAR,
    domain VARCHAR,
    request_class VARCHAR,
    region VARCHAR,
    instance VARCHAR,
    prefill_instance VARCHAR,
    engine VARCHAR,
    adapter VARCHAR,
    attempts INTEGER,
    input_tokens BIGINT,
    cached_tokens BIGINT,
    output_tokens BIGINT,
    queue_seconds DOUBLE,
    prefill_seconds DOUBLE,
    transfer_seconds DOUBLE,
    decode_seconds DOUBLE,
    ttft_seconds DOUBLE,
    e2e_seconds DOUBLE,
    status VARCHAR,
    finish_reason VARCHAR,
    structured BOOLEAN,
    temperature DOUBLE,
    spec_draft_tokens BIGINT,
    spec_accepted_tokens BIGINT,
    session VARCHAR,
    turn INTEGER,
    prefix_hashes BIGINT[]
);

-- What follows from other columns is computed; `told_` holds what an import says otherwise.
create table stored.requests (
    gateway_key UBIGINT,
    engine_part UBIGINT,
    ts TIMESTAMPTZ not null,
    told_first_token_at TIMESTAMPTZ,
    told_finished_at TIMESTAMPTZ,
    request_id VARCHAR not null,
    trace_id VARCHAR,
    model VARCHAR,
    requested_model VARCHAR,
    model_version VARCHAR,
    tenant VARCHAR,
    domain VARCHAR,
    "class" VARCHAR,
    region VARCHAR,
    pool VARCHAR,
    instance VARCHAR,
    prefill_instance VARCHAR,
    role VARCHAR,
    engine VARCHAR,
    adapter VARCHAR,
    attempts INTEGER,
    input_tokens BIGINT,
    cached_tokens BIGINT,
    output_tokens BIGINT,
    length_bucket VARCHAR,
    queue_seconds DOUBLE,
    prefill_seconds DOUBLE,
    transfer_seconds DOUBLE,
    decode_seconds DOUBLE,
    gateway_seconds DOUBLE,
    ttft_seconds DOUBLE,
    told_tpot_seconds DOUBLE,
    e2e_seconds DOUBLE,
    engine_ttft_seconds DOUBLE,
    engine_e2e_seconds DOUBLE,
    status VARCHAR not null,
    finish_reason VARCHAR,
    structured BOOLEAN,
    temperature DOUBLE,
    spec_draft_tokens BIGINT,
    spec_accepted_tokens BIGINT,
    session VARCHAR,
    turn INTEGER,
    prefix_hashes BIGINT[],
    source VARCHAR not null,
    gateway_input_tokens BIGINT,
    gateway_output_tokens BIGINT,
    first_token_at TIMESTAMPTZ as (
        coalesce(told_first_token_at, ts + to_microseconds(cast(round(ttft_seconds * 1e6) as bigint)))
    ),
    finished_at TIMESTAMPTZ as (
        coalesce(told_finished_at, ts + to_microseconds(cast(round(e2e_seconds * 1e6) as bigint)))
    ),
    tpot_seconds DOUBLE as (
        coalesce(
            told_tpot_seconds,
            case when output_tokens > 1 then (e2e_seconds - ttft_seconds) / (output_tokens - 1) end
        )
    )
);

create table stored.arrivals (
    ts TIMESTAMPTZ not null,
    model VARCHAR,
    tenant VARCHAR,
    session VARCHAR,
    input_tokens BIGINT,
    output_tokens BIGINT,
    prefix_hashes BIGINT[]
);

create table stored.engine_samples (
    ts TIMESTAMPTZ not null,
    interval_seconds DOUBLE,
    instance VARCHAR not null,
    model VARCHAR,
    role VARCHAR,
    engine VARCHAR,
    engine_version VARCHAR,
    model_version VARCHAR,
    pool VARCHAR,
    region VARCHAR,
    scrape_state VARCHAR not null,
    queue_depth DOUBLE,
    queue_max DOUBLE,
    running DOUBLE,
    kv_usage_ratio DOUBLE,
    kv_usage_max_ratio DOUBLE,
    adapters_running DOUBLE,
    adapters_waiting DOUBLE,
    prompt_tokens DOUBLE,
    generation_tokens DOUBLE,
    prefix_query_tokens DOUBLE,
    prefix_hit_tokens DOUBLE,
    external_hit_tokens DOUBLE,
    preemptions DOUBLE,
    steps DOUBLE,
    step_tokens DOUBLE,
    step_seconds DOUBLE,
    first_tokens DOUBLE,
    finished DOUBLE,
    rejected DOUBLE,
    queue_seconds_sum DOUBLE,
    prefill_seconds_sum DOUBLE,
    spec_drafts DOUBLE,
    spec_draft_tokens DOUBLE,
    spec_accepted_tokens DOUBLE,
    spec_accepted_by_position BIGINT[],
    grammar_seconds DOUBLE,
    kv_transfer_bytes DOUBLE,
    kv_transfer_seconds DOUBLE
);

create table stored.edge_sets (
    edge_set INTEGER not null,
    edges DOUBLE[] not null
);

create table stored.engine_histograms (
    ts TIMESTAMPTZ not null,
    interval_seconds DOUBLE,
    instance VARCHAR not null,
    model VARCHAR,
    metric VARCHAR not null,
    edge_set INTEGER not null,
    counts BIGINT[] not null
);

create table stored.imported_bins (
    ts TIMESTAMPTZ not null,
    interval_seconds DOUBLE,
    instance VARCHAR not null,
    model VARCHAR,
    metric VARCHAR not null,
    edge_lo DOUBLE not null,
    edge_hi DOUBLE,
    count BIGINT not null
);

create table stored.gpu_samples (
    ts TIMESTAMPTZ not null,
    host VARCHAR not null,
    gpu VARCHAR not null,
    "index" INTEGER,
    mig VARCHAR,
    instance VARCHAR,
    sm_active_ratio DOUBLE,
    sm_active_ratio_max DOUBLE,
    sm_occupancy_ratio DOUBLE,
    sm_occupancy_ratio_max DOUBLE,
    tensor_active_ratio DOUBLE,
    tensor_active_ratio_max DOUBLE,
    dram_bandwidth_ratio DOUBLE,
    dram_bandwidth_ratio_max DOUBLE,
    memory_busy_ratio DOUBLE,
    pcie_tx_bytes_per_second DOUBLE,
    pcie_rx_bytes_per_second DOUBLE,
    nvlink_tx_bytes_per_second DOUBLE,
    nvlink_rx_bytes_per_second DOUBLE,
    memory_used_bytes BIGINT,
    memory_total_bytes BIGINT,
    power_watts DOUBLE,
    energy_joules DOUBLE,
    temperature_celsius DOUBLE,
    sm_clock_mhz DOUBLE,
    memory_clock_mhz DOUBLE,
    throttle_reasons VARCHAR[],
    ecc_uncorrected BIGINT,
    remapped_rows BIGINT,
    state VARCHAR not null,
    gpm_state VARCHAR
);

create table stored.gpu_events (
    ts TIMESTAMPTZ not null,
    host VARCHAR not null,
    gpu VARCHAR not null,
    kind VARCHAR not null,
    code BIGINT
);

create table stored.host_samples (
    ts TIMESTAMPTZ not null,
    host VARCHAR not null,
    cpu_ratio DOUBLE,
    cpu_pressure_ratio DOUBLE,
    memory_pressure_ratio DOUBLE,
    io_pressure_ratio DOUBLE,
    engine_cpu_ratio DOUBLE,
    nic_rx_bytes_per_second DOUBLE,
    nic_tx_bytes_per_second DOUBLE,
    nic_errors DOUBLE,
    rdma_rx_bytes_per_second DOUBLE,
    rdma_tx_bytes_per_second DOUBLE,
    rdma_errors DOUBLE,
    disk_read_bytes_per_second DOUBLE
);

create table stored.signal_samples (
    ts TIMESTAMPTZ not null,
    instance VARCHAR,
    model VARCHAR,
    tenant VARCHAR,
    length_bucket VARCHAR,
    signal VARCHAR not null,
    attributes MAP(VARCHAR,VARCHAR),
    value DOUBLE
);

create table stored.instances (
    instance VARCHAR not null,
    pool VARCHAR,
    model VARCHAR,
    model_version VARCHAR,
    engine VARCHAR,
    engine_version VARCHAR,
    host VARCHAR,
    region VARCHAR,
    role VARCHAR,
    gpu_type VARCHAR,
    gpu_count INTEGER,
    kv_capacity_tokens BIGINT,
    block_tokens INTEGER,
    max_running INTEGER,
    started_at TIMESTAMPTZ,
    ready_at TIMESTAMPTZ,
    draining_at TIMESTAMPTZ,
    stopped_at TIMESTAMPTZ,
    config MAP(VARCHAR,VARCHAR)
);

create table stored.instance_aliases (
    alias VARCHAR not null,
    instance VARCHAR not null
);

create table stored.changes (
    ts TIMESTAMPTZ not null,
    kind VARCHAR not null,
    model VARCHAR,
    model_version VARCHAR,
    pool VARCHAR,
    instance VARCHAR,
    region VARCHAR,
    tenant VARCHAR,
    summary VARCHAR not null,
    source VARCHAR,
    external_id VARCHAR
);

create table stored.objective_counts (
    ts TIMESTAMPTZ not null,
    objective VARCHAR not null,
    revision INTEGER not null,
    model VARCHAR,
    tenant VARCHAR,
    length_bucket VARCHAR,
    model_version VARCHAR,
    region VARCHAR,
    adapter VARCHAR,
    good BIGINT not null,
    bad BIGINT not null,
    excluded BIGINT not null,
    unattributed_bad BIGINT not null,
    exact BOOLEAN not null
);

create table stored.recommendations (
    ts TIMESTAMPTZ not null,
    pool VARCHAR not null,
    model VARCHAR,
    role VARCHAR,
    region VARCHAR,
    current INTEGER,
    proposed INTEGER,
    action VARCHAR not null,
    binding VARCHAR,
    confidence DOUBLE,
    valid_until TIMESTAMPTZ,
    document VARCHAR not null,
    grade VARCHAR
);

create table stored.incidents (
    incident VARCHAR not null,
    model VARCHAR,
    metric VARCHAR,
    started_at TIMESTAMPTZ not null,
    ended_at TIMESTAMPTZ,
    stage VARCHAR,
    cause VARCHAR,
    confidence DOUBLE,
    document VARCHAR not null,
    human_verdict VARCHAR,
    human_note VARCHAR
);

create table stored.latency_groups (
    group_id INTEGER not null,
    model VARCHAR,
    model_version VARCHAR,
    tenant VARCHAR,
    length_bucket VARCHAR,
    region VARCHAR,
    adapter VARCHAR
);

-- `key` is group_id << 39 | (epoch(ts) // step_seconds) << 13 | bin + 2000: one sorted column is read fastest.
create table stored.latency_bins (
    step_seconds INTEGER not null,
    metric VARCHAR not null,
    ts TIMESTAMPTZ not null,
    key BIGINT not null,
    count INTEGER not null
);

create table stored.instance_bins (
    step_seconds INTEGER not null,
    ts TIMESTAMPTZ not null,
    model VARCHAR,
    instance VARCHAR,
    metric VARCHAR not null,
    bin SMALLINT not null,
    count BIGINT not null
);

create table stored.audit (
    ts TIMESTAMPTZ not null,
    who VARCHAR,
    action VARCHAR not null,
    detail VARCHAR
);

create table stored.pins (
    pool VARCHAR not null,
    replicas INTEGER,
    until TIMESTAMPTZ,
    who VARCHAR,
    set_at TIMESTAMPTZ not null
);

create table stored.objective_revisions (
    objective VARCHAR not null,
    revision INTEGER not null,
    digest VARCHAR not null,
    document VARCHAR not null,
    since TIMESTAMPTZ not null
);

create table stored.progress (
    name VARCHAR primary key,
    value BIGINT not null
);

create table stored.prices (
    pool VARCHAR,
    model VARCHAR,
    gpu_type VARCHAR,
    gpus_per_instance INTEGER,
    usd_per_gpu_hour DOUBLE not null,
    since TIMESTAMPTZ
);

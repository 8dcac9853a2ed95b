-- Request halves become an index by which they find each other, and compressed bodies; bins by instance become lists.
alter table stored.halves rename to wide_halves;

create table stored.halves (
    sequence BIGINT not null,
    side UTINYINT not null,
    key UBIGINT,
    part UBIGINT not null,
    match UBIGINT,
    trace UBIGINT,
    alias UBIGINT,
    start_ns BIGINT not null
);

-- A body holds what the halves with the sequences first_sequence .. first_sequence + rows - 1 know, beside their keys.
create table stored.half_bodies (
    first_sequence BIGINT not null,
    rows INTEGER not null,
    last_ns BIGINT not null,
    body BLOB not null using compression uncompressed
);

-- A cell is the metric's place in the view's list << 13 | bin + 2000.
create table stored.instance_cells (
    step_seconds INTEGER not null,
    ts TIMESTAMPTZ not null,
    model VARCHAR,
    instance VARCHAR not null,
    cells INTEGER[] not null,
    counts INTEGER[] not null
);

insert into stored.instance_cells by name
select
    step_seconds,
    ts,
    model,
    instance,
    list(
        (list_position(
            ['ttft_seconds', 'tpot_seconds', 'e2e_seconds', 'queue_seconds', 'prefill_seconds'], metric
        ) - 1) * 8192 + bin + 2000
    ) as cells,
    list(cast(count as integer)) as counts
from stored.instance_bins
where instance is not null
group by step_seconds, ts, model, instance;

drop view instance_bins;

drop table stored.instance_bins;

alter table stored.instance_cells rename to instance_bins;

create view instance_bins as
with spread as (
    select step_seconds, ts, model, instance, unnest(cells) as cell, unnest(counts) as count
    from stored.instance_bins
)
select
    ts, step_seconds,
    ['ttft_seconds', 'tpot_seconds', 'e2e_seconds', 'queue_seconds', 'prefill_seconds'][(cell >> 13) + 1] as metric,
    model, instance, cast((cell & 8191) - 2000 as smallint) as bin, cast(count as bigint) as count
from spread;

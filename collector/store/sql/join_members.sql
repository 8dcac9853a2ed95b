-- Lists the engine halves that are new or belong to a touched gateway request; a log line belongs to its span.
create or replace temp table joining_members as
with wanted as (
    select half_sequence, part, side
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
    select
        log.half_sequence as log_sequence,
        min_by(span.half_sequence, abs(span.start_ns - log.start_ns)) as span_sequence,
        min_by(span.part, abs(span.start_ns - log.start_ns)) as span_part
    from stored.halves as log
    join stored.halves as span on
        span.match = log.match
        and span.side = 'engine'
        and log.side = 'log'
        and span.instance is not distinct from log.instance
        and abs(span.start_ns - log.start_ns) < 60000000000
    where
        (log.half_sequence in (select half_sequence from wanted)
            or span.half_sequence in (select half_sequence from wanted))
        and log.start_ns between $low and $high
        and span.start_ns between $low and $high
    group by log.half_sequence
),
pieces as (
    select log_sequence as half_sequence, span_part as engine_part
    from twins
    union
    select span_sequence, span_part
    from twins
)
select half_sequence, engine_part, true as merged
from pieces
union all
select half_sequence, part as engine_part, false as merged
from wanted
where half_sequence not in (select half_sequence from pieces)

-- Names for each engine log line, and for its span, the span's part: same request, same instance, within a minute.
with twins as (
    select
        log.row as log_row,
        min_by(span.row, abs(span.start_ns - log.start_ns)) as span_row,
        min_by(span.part, abs(span.start_ns - log.start_ns)) as span_part
    from engine_halves as log
    join engine_halves as span on
        span.match = log.match
        and span.is_span
        and log.is_line
        and log.match <> 0
        and span.instance is not distinct from log.instance
        and abs(span.start_ns - log.start_ns) < 60000000000
    where log.wanted or span.wanted
    group by log.row
)
select log_row as row, span_part as part
from twins

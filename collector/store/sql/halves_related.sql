-- Names the halves that share a key with the seeds; a scan for each kind of key takes half the time of one for all.
with found as (
    select sequence
    from stored.halves
    where sequence <= $until and start_ns between $low and $high and match in (select value from seed_match)
    union
    select sequence
    from stored.halves
    where sequence <= $until and start_ns between $low and $high and trace in (select value from seed_trace)
    union
    select sequence
    from stored.halves
    where sequence <= $until and start_ns between $low and $high and key in (select value from seed_key)
    union
    select sequence
    from stored.halves
    where sequence <= $until and start_ns between $low and $high and alias in (select value from seed_key)
    union
    select sequence
    from stored.halves
    where sequence <= $until and start_ns between $low and $high and part in (select value from seed_part)
    union
    select sequence
    from stored.far_halves
    where
        sequence <= $until and low_ns <= $high and high_ns >= $low
        and (
            match in (select value from seed_match) or trace in (select value from seed_trace)
            or key in (select value from seed_key) or alias in (select value from seed_key)
            or part in (select value from seed_part)
        )
)
select
    sequence, side, coalesce(key, 0) as key, part, coalesce(match, 0) as match, coalesce(trace, 0) as trace,
    coalesce(alias, 0) as alias, start_ns
from stored.halves
where sequence in (select sequence from found)

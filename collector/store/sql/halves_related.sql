-- Names the halves that share a key with the seeds.
select
    sequence, side, coalesce(key, 0) as key, part, coalesce(match, 0) as match, coalesce(trace, 0) as trace,
    coalesce(alias, 0) as alias, start_ns
from stored.halves
where
    sequence <= $until
    and start_ns between $low and $high
    and (
        match in (select value from seed_match)
        or trace in (select value from seed_trace)
        or key in (select value from seed_key)
        or alias in (select value from seed_key)
        or part in (select value from seed_part)
    )

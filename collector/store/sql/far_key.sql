-- Names the gateway keys, of those that newer halves have, whose halves begin far apart.
with parts as (
    select key as value, start_ns
    from stored.halves
    where
        sequence <= $until and start_ns between $first - $reach and $last + $reach
        and key in (select value from newer_keys)
    union all
    select alias as value, start_ns
    from stored.halves
    where
        sequence <= $until and start_ns between $first - $reach and $last + $reach
        and alias in (select value from newer_keys)
)
select value
from parts
group by value
having max(start_ns) - min(start_ns) > $near

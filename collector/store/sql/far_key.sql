-- Names the gateway keys of newer halves, their own and those they claim, whose halves begin far apart.
with newer as (
    select key as value
    from stored.halves
    where sequence > $after and sequence <= $until and start_ns between $first and $last and key is not null
    union
    select alias as value
    from stored.halves
    where sequence > $after and sequence <= $until and start_ns between $first and $last and alias is not null
),
parts as (
    select key as value, start_ns
    from stored.halves
    where
        sequence <= $until and start_ns between $first - $reach and $last + $reach
        and key in (select value from newer)
    union all
    select alias as value, start_ns
    from stored.halves
    where
        sequence <= $until and start_ns between $first - $reach and $last + $reach
        and alias in (select value from newer)
)
select value
from parts
group by value
having max(start_ns) - min(start_ns) > $near

-- Names the traces of newer halves whose halves begin far apart.
with newer as (
    select distinct trace
    from stored.halves
    where sequence > $after and sequence <= $until and start_ns between $first and $last and trace is not null
)
select trace as value
from stored.halves
where
    sequence <= $until and start_ns between $first - $reach and $last + $reach
    and trace in (select trace from newer)
group by trace
having max(start_ns) - min(start_ns) > $near

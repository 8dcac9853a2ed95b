-- Names the traces, of those that newer halves have, whose halves begin far apart.
select trace as value
from stored.halves
where
    sequence <= $until and start_ns between $first - $reach and $last + $reach
    and trace in (select value from newer_keys)
group by trace
having max(start_ns) - min(start_ns) > $near

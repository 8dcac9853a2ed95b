-- Names the response ids, of those that newer halves have, whose halves begin far apart.
select match as value
from stored.halves
where
    sequence <= $until and start_ns between $first - $reach and $last + $reach
    and match in (select value from newer_keys)
group by match
having max(start_ns) - min(start_ns) > $near

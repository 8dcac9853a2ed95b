-- Names the response ids of newer halves whose halves begin far apart.
with newer as (
    select distinct match
    from stored.halves
    where sequence > $after and sequence <= $until and start_ns between $first and $last and match is not null
)
select match as value
from stored.halves
where
    sequence <= $until and start_ns between $first - $reach and $last + $reach
    and match in (select match from newer)
group by match
having max(start_ns) - min(start_ns) > $near

-- Names the response ids of newer halves.
select distinct match as value
from stored.halves
where sequence > $after and sequence <= $until and start_ns between $first and $last and match is not null

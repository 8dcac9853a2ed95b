-- Names the gateway keys of newer halves, their own and those they claim.
select key as value
from stored.halves
where sequence > $after and sequence <= $until and start_ns between $first and $last and key is not null
union
select alias as value
from stored.halves
where sequence > $after and sequence <= $until and start_ns between $first and $last and alias is not null

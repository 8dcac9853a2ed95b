-- Names the traces of newer halves.
select distinct trace as value
from stored.halves
where sequence > $after and sequence <= $until and start_ns between $first and $last and trace is not null

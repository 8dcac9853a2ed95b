-- Tells when the newer halves begin.
select min(start_ns) as first, max(start_ns) as last
from stored.halves
where sequence > $after and sequence <= $until

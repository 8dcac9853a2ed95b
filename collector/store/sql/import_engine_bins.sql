-- Adds imported histogram rows as they came.
insert into stored.imported_bins by name
select ts, interval_seconds, instance, model, metric, edge_lo, edge_hi, count
from incoming_rows

-- Drops latency bins by hour that are older than their keep.
delete from stored.latency_bins where step_seconds = 3600 and ts < $hour

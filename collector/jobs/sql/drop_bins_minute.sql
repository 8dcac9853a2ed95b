-- Drops latency bins by minute that are older than their keep.
delete from stored.latency_bins where step_seconds = 60 and ts < $minute

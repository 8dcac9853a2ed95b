-- Drops latency bins by five minutes that are older than their keep.
delete from stored.latency_bins where step_seconds = 300 and ts < $five

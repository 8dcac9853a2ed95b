-- Removes the counts that were added up.
delete from stored.latency_bins
where ts >= $reopened and ts < $closed

-- Removes the counts by instance that were added up.
delete from stored.instance_bins
where ts >= $reopened and ts < $closed

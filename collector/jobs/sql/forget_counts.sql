-- Removes the minute counts that are about to be counted again.
delete from stored.objective_counts
where ts >= $begin and ts < $until

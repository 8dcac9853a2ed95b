-- Drops latency bins by instance that are older than the keep of bins by minute.
delete from stored.instance_bins where ts < $minute

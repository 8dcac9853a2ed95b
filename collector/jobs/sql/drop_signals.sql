-- Drops other signals with the samples.
delete from stored.signal_samples where ts < $samples

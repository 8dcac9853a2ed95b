-- Drops host samples with the engine samples.
delete from stored.host_samples where ts < $samples

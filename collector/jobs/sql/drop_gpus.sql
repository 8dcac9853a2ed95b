-- Drops GPU samples with the engine samples.
delete from stored.gpu_samples where ts < $samples

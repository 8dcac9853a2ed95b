-- Drops engine samples that are older than their keep.
delete from stored.engine_samples where ts < $samples

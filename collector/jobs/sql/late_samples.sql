-- Counts engine samples that came after all of their day had been dropped.
select count(*) as late, max(ts) as newest from stored.engine_samples where ts < $dropped

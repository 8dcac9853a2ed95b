-- Drops scraped histograms with their samples.
delete from stored.engine_histograms where ts < $samples

-- Drops objective counts that are older than their keep.
delete from stored.objective_counts where ts < $counts

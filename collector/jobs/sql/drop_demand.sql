-- Drops sums of demand that are older than their keep.
delete from stored.demand where ts < $demand

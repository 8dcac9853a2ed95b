-- Drops sums of what engines counted that are older than their keep.
delete from stored.engine_demand where ts < $demand

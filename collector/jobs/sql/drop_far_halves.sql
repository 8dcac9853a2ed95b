-- Drops what was noted of halves that were far from their partners, with the last of them.
delete from stored.far_halves where high_ns < cast(epoch_ns(cast($requests as timestamptz)) as bigint)

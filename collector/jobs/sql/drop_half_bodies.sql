-- Drops what request halves knew with the last of them.
delete from stored.half_bodies where last_ns < cast(epoch_ns(cast($requests as timestamptz)) as bigint)

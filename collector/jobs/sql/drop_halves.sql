-- Drops request halves with their requests: nothing can join them any more.
delete from stored.halves where start_ns < cast(epoch_ns(cast($requests as timestamptz)) as bigint)

-- Drops raw requests that are older than their keep.
delete from stored.requests where ts < $requests

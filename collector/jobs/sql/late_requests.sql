-- Counts requests that came after all of their day had been dropped.
select count(*) as late, max(ts) as newest from stored.requests where ts < $dropped

-- Drops the rows whose run is to become one row.
delete from stored.ledger as l
using ledger_runs as r
where
    l.agent = r.agent and l.epoch = r.epoch and l.sequence between r.sequence and r.upto and l.received_at < $closed

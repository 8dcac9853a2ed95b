-- Writes each run as one row.
insert into stored.ledger by name
select agent, epoch, sequence, upto, received_at
from ledger_runs

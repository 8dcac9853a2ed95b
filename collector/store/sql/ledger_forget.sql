-- Forgets scrapes of senders that number nothing: their sequence is a time in ms, and what is as old is refused.
delete from stored.ledger
where
    sequence < epoch_ms(cast($remembered as timestamptz))
    and (starts_with(agent, 'remote-write/') or starts_with(agent, 'otlp/'))

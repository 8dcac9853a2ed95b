-- Removes the request rows that new ones replace.
delete from stored.requests
where
    ts between make_timestamptz($low // 1000) and make_timestamptz($high // 1000)
    and (
        gateway_key in (select value from replaced_keys)
        or engine_part in (select value from replaced_parts)
    )

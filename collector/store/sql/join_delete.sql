-- Removes the request rows that the new ones replace.
delete from stored.requests as r
where
    r.ts between make_timestamptz($low // 1000) and make_timestamptz($high // 1000)
    and (
        r.gateway_key in (select gateway_key from replaced_requests where gateway_key is not null)
        or r.engine_part in (select engine_part from replaced_requests where engine_part is not null)
    )

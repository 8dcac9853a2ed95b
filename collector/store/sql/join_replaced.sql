-- Keeps the request rows that the new ones replace, so that their counts can be taken back.
create or replace temp table replaced_requests as
select r.*
from stored.requests as r
where
    r.ts between make_timestamptz($low // 1000) and make_timestamptz($high // 1000)
    and (
        r.gateway_key in (select gateway_key from touched_gateways)
        or r.engine_part in (select engine_part from joining_engines)
    )

-- The decisions of the calm window by pool, newest last: needs, changes and head-room that the next decision must remember.
select pool, ts, current, proposed, action, coalesce(json_extract(document, '$.lasting_need'), json_extract(document, '$.need'))::bigint as need,
       json_extract(document, '$.headroom_score')::double as headroom_score
from recommendations
where ts > $since and ts <= $now
order by pool, ts

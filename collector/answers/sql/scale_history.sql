-- The decisions of the calm window by pool, newest last: needs and changes that the next decision must remember.
select pool, ts, current, proposed, action, json_extract(document, '$.need')::bigint as need
from recommendations
where ts > $since and ts <= $now
order by pool, ts

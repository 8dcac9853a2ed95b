-- Request ids that look like one that does not exist.
select request_id
from requests
where request_id ilike '%' || $request_id || '%'
order by ts desc
limit 5

-- The length buckets that occur.
select distinct length_bucket
from requests
where length_bucket is not null
order by length_bucket

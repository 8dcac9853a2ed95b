-- Every tenant that sent requests, the busiest first.
select tenant
from requests
where tenant is not null
group by tenant
order by count(*) desc, tenant
limit 500

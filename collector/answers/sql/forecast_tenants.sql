-- Every tenant that has requests of any model.
select distinct tenant
from requests
where tenant is not null
order by tenant

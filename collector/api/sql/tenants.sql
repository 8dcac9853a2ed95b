-- Tenants that are told apart already, at most as many as the limit.
select distinct tenant
from requests
where tenant is not null
limit $limit

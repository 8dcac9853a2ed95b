-- The arrival of the oldest raw request.
select min(ts) as oldest from requests

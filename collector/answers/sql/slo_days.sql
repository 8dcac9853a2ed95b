-- Days with the number of requests and scrapes that are stored of each before $until.
select date_trunc('day', ts) as day, count(*) as stored
from (
    select ts from requests where ts < cast($until as timestamptz)
    union all
    select ts from engine_samples where ts < cast($until as timestamptz)
)
group by day
order by day

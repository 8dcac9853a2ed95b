-- Draft and accepted tokens by kind of work.
select
    domain,
    sum(spec_draft_tokens)::double as drafted,
    sum(spec_accepted_tokens)::double as accepted
from requests
where ts between $since and $until and ($model::varchar is null or model = $model)
  and domain is not null and spec_draft_tokens > 0 and spec_accepted_tokens is not null
group by domain
order by drafted desc
limit 20

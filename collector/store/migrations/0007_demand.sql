-- What demand was, in steps of five minutes, of requests and scrapes that are dropped: a forecast looks back weeks.
create table stored.demand (
    ts TIMESTAMPTZ not null,
    model VARCHAR,
    tenant VARCHAR,
    length_bucket VARCHAR,
    requests BIGINT not null,
    input_tokens BIGINT,
    cached_tokens BIGINT,
    output_tokens BIGINT
);

create table stored.engine_demand (
    ts TIMESTAMPTZ not null,
    model VARCHAR,
    scrapes BIGINT not null,
    first_tokens DOUBLE,
    prompt_tokens DOUBLE,
    prefix_hit_tokens DOUBLE,
    generation_tokens DOUBLE
);

create view demand as
select ts, model, tenant, length_bucket, requests, input_tokens, cached_tokens, output_tokens
from stored.demand;

create view engine_demand as
select ts, model, scrapes, first_tokens, prompt_tokens, prefix_hit_tokens, generation_tokens
from stored.engine_demand;

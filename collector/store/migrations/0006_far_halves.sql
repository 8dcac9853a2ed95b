-- Halves that a join finds although they begin long before or after what comes: long ones, and partners far apart.
create table if not exists stored.far_halves (
    sequence BIGINT not null,
    key UBIGINT,
    part UBIGINT not null,
    match UBIGINT,
    trace UBIGINT,
    alias UBIGINT,
    low_ns BIGINT not null,
    high_ns BIGINT not null
);

-- What is joined already was joined with all within a day of it.
insert into stored.progress select 'joined_far', value from stored.progress where name = 'joined_halves';

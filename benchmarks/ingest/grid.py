"""Times P99 TTFT by model, tenant, length and 5 minutes over a day: ours from bins, chdb's exact one beside it."""

from __future__ import annotations

import json
import subprocess
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from benchmarks.ingest.bodies import ROOT
from collector.store.latency_table import latency_table
from collector.store.store import Store

SINCE = datetime(2026, 5, 1, tzinfo=UTC)
UNTIL = SINCE + timedelta(days=1)
PEER_PYTHON = ROOT / "build" / "peers" / "chdb" / "bin" / "python"
REPEATS = 7
#: 4 models x 22 tenants x 6 lengths = 528 groups, busy ones far busier, as in the reference experiments.
RAW = """
create or replace temp table raw as
select
    timestamptz '2026-05-01 00:00:00+00' + to_microseconds(cast(random() * 86400e6 as bigint)) as ts,
    cast(floor(528 * random() * random()) as integer) as grp,
    exp(-1.0 + 0.8 * sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random())) as ttft_seconds
from range($rows)
"""
BINS = """
insert into stored.latency_bins by name
select
    300 as step_seconds, 'ttft_seconds' as metric, time_bucket(interval 5 minutes, ts) as ts,
    (cast(grp as bigint) << 39) + (cast(epoch(time_bucket(interval 5 minutes, ts)) as bigint) // 300 << 13)
        + latency_bin(ttft_seconds) + 2000 as key,
    count(*) as count
from raw
group by all
order by key
"""
GROUPS = """
insert into stored.latency_groups
select
    i, 'model-' || (i % 4), null, 'tenant-' || (i // 4 % 22),
    (['0-1k','1k-4k','4k-16k','16k-64k','64k-256k','256k-1m'])[i // 88 + 1], null, null
from range(528) t(i)
"""
EXACT = """
select grp, time_bucket(interval 5 minutes, ts) as ts, quantile_disc(ttft_seconds, 0.99) as value, count(*) as n
from raw group by all order by grp, ts
"""
CHDB = """
import sys, json, time, tempfile
from chdb.session import Session
path, repeats = sys.argv[1], int(sys.argv[2])
session = Session(tempfile.mkdtemp())
session.query("create database b")
session.query("create table b.r (ts DateTime64(6, 'UTC'), model LowCardinality(String), tenant LowCardinality(String), "
              "length_bucket LowCardinality(String), ttft_seconds Float64) engine = MergeTree order by ts")
session.query(f"insert into b.r select * from file('{path}', Parquet)")
session.query("optimize table b.r final")
question = ("select model, tenant, length_bucket, toStartOfInterval(ts, interval 5 minute) t, "
            "quantileExact(0.99)(ttft_seconds) from b.r group by model, tenant, length_bucket, t order by 1, 2, 3, 4")
times = []
for _ in range(repeats):
    begin = time.perf_counter()
    answer = session.query(question, "Arrow")
    times.append(time.perf_counter() - begin)
print(json.dumps(min(times) * 1000))
"""


@dataclass(frozen=True, slots=True)
class Grid:
    """Milliseconds of our answer, of chdb's (None: not installed), groups in it, largest relative error."""

    ms: float
    peer_ms: float | None
    groups: int
    error: float | None


def measure(path: Path, rows: int, compare: bool) -> Grid:
    """Fill a store with the bins of `rows` requests and ask; `compare` also asks exactly, here and in chdb."""
    with Store.open(path) as store:
        cursor = store.cursor()
        cursor.execute("select setseed(0.42)")
        cursor.execute(RAW, {"rows": rows})
        cursor.execute(BINS)
        cursor.execute(GROUPS)
        store.checkpoint()
        times = []
        for _ in range(REPEATS):
            begin = time.perf_counter()
            found = latency_table(cursor, "ttft_seconds", 0.99, SINCE, UNTIL)
            times.append(time.perf_counter() - begin)
        error = peer = None
        if compare:
            exact = cursor.execute(EXACT).fetchnumpy()
            assert np.array_equal(exact["n"], np.asarray(found["requests"]))
            error = float(np.max(np.abs(np.asarray(found["value"]) - exact["value"]) / exact["value"]))
            peer = _chdb(cursor, path.with_name("raw.parquet"))
        cursor.close()
    return Grid(min(times) * 1000, peer, len(found), error)


def _chdb(cursor: object, parquet: Path) -> float | None:
    if not PEER_PYTHON.exists():
        return None
    cursor.execute(  # type: ignore[attr-defined]  # a DuckDB cursor
        f"copy (select r.ts, g.model, g.tenant, g.length_bucket, r.ttft_seconds from raw r "
        f"join stored.latency_groups g on g.group_id = r.grp) to '{parquet}' (format parquet)"
    )
    done = subprocess.run(
        [str(PEER_PYTHON), "-c", CHDB, str(parquet), str(REPEATS)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if done.returncode != 0:
        print(f"chdb failed: {done.stderr[-300:]}")
        return None
    return float(json.loads(done.stdout.strip().splitlines()[-1]))

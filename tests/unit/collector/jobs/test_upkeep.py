"""Upkeep merges signed bins without moving a quantile and drops what is older than its keep."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from collector.answers.demand import demand
from collector.importer.run import Options, import_sources
from collector.importer.sources import recognise
from collector.jobs.upkeep import Upkeep
from collector.store.batch import HalfBatch
from signals.records import Identity
from signals.spans import RequestHalf
from tests.unit.collector.jobs.support import Clock, ask, parts_of

SECOND = 1_000_000_000
START = datetime(2026, 5, 1, 12, tzinfo=UTC)
T0 = int(START.timestamp()) * SECOND
QUANTILES = (
    "select step_seconds, ts, metric, model, bin_quantile(list(bin), list(count), 0.5) as p50, "
    "bin_quantile(list(bin), list(count), 0.99) as p99, sum(count) as n from {view} group by all "
    "having sum(count) <> 0 order by all"
)


def _half(side: str, number: int, **given: object) -> RequestHalf:
    return RequestHalf(
        side=side, key=f"{side}{number}", part=f"{side}{number}", start_ns=T0 + number * SECOND, match=f"id{number}",
        status="ok", e2e_seconds=2.0 + number / 10, **given,
    )  # type: ignore[arg-type]  # fmt: skip


def _halves() -> tuple[list[RequestHalf], list[RequestHalf]]:
    engines = [
        _half("engine", n, instance="i", model="m", ttft_seconds=0.1 + n / 100, input_tokens=100, output_tokens=9)
        for n in range(40)
    ]
    gateways = [_half("gateway", n, model="m", tenant=f"t{n % 2}", ttft_seconds=0.2 + n / 100) for n in range(0, 40, 2)]
    return engines, gateways


def test_merging_moves_no_quantile_and_leaves_fewer_rows() -> None:
    clock = Clock(START + timedelta(hours=1))
    with parts_of(None, clock) as parts:
        for side, halves in enumerate(_halves()):
            for half in (0, 1):
                parts.store.commit([HalfBatch(Identity("a", f"{side}", half), tuple(halves[half::2]))])
                parts.store.join()
        before = {view: ask(parts, QUANTILES.format(view=view)) for view in ("latency_bins", "instance_bins")}
        rows = "select (select count(*) from stored.latency_bins), (select count(*) from stored.instance_bins)"
        signed = ask(parts, rows)[0]
        assert before["latency_bins"] and before["instance_bins"]
        Upkeep(parts).run()
        assert ask(parts, rows)[0] == signed, "the hour is still open"
        clock.forward(hours=3)
        Upkeep(parts).run()
        merged = ask(parts, rows)[0]
        assert all(after < was for after, was in zip(merged, signed, strict=True))
        for view, rows_before in before.items():
            assert ask(parts, QUANTILES.format(view=view)) == rows_before
        Upkeep(parts).run()
        assert ask(parts, rows)[0] == merged
        late = [_half("gateway", 1, model="m", tenant="t1", ttft_seconds=0.9)]
        parts.store.commit([HalfBatch(Identity("a", "e", 999), tuple(late))])
        parts.store.join()
        moved = ask(parts, QUANTILES.format(view="latency_bins"))
        Upkeep(parts).run()
        assert ask(parts, QUANTILES.format(view="latency_bins")) == moved != before["latency_bins"]


@pytest.fixture
def tables(tmp_path: Path) -> tuple[str, ...]:
    days = [START + timedelta(days=number) for number in range(12)]
    contents = {
        "requests": ["ts,model,status,ttft_seconds"] + [f"{ts.isoformat()},m,ok,0.5" for ts in days],
        "engine_samples": ["ts,instance,model"] + [f"{ts.isoformat()},i,m" for ts in days],
        "gpu_samples": ["ts,host,gpu"] + [f"{ts.isoformat()},h,g" for ts in days],
        "host_samples": ["ts,host"] + [f"{ts.isoformat()},h" for ts in days],
        "signal_samples": ["ts,signal,value"] + [f"{ts.isoformat()},s,1" for ts in days],
    }
    for name, lines in contents.items():
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
    return tuple(str(tmp_path / f"{name}.csv") for name in contents)


KEPT = {
    "requests": 3,
    "engine_samples": 5,
    "gpu_samples": 5,
    "host_samples": 5,
    "signal_samples": 5,
    "latency_bins where step_seconds = 60": 7,
    "latency_bins where step_seconds = 300": 9,
    "latency_bins where step_seconds = 3600": 11,
}


def _oldest(query: str) -> str:
    return f"select min(ts) from {query}"


def test_what_is_older_than_its_keep_is_dropped_and_the_rest_stays(tables: tuple[str, ...]) -> None:
    clock = Clock(START + timedelta(days=11, hours=6))
    keeps = {
        "keep_requests_days": 3, "keep_samples_days": 5, "keep_minute_bins_days": 7, "keep_5minute_bins_days": 9,
        "keep_hour_bins_days": 11,
    }  # fmt: skip
    with parts_of(None, clock, **keeps) as parts:
        outcome = import_sources(parts.store, list(recognise(tables).sources), Options(), lambda _: None)
        assert outcome.faults == []
        Upkeep(parts).run()
        for query, days in KEPT.items():
            midnight = clock.now.replace(hour=0) - timedelta(days=days)
            ((oldest,),) = ask(parts, _oldest(query))
            assert isinstance(oldest, datetime)
            assert midnight <= oldest < midnight + timedelta(days=1), query
        counts = ask(parts, "select count(*) from requests")
        Upkeep(parts).run()
        assert ask(parts, "select count(*) from requests") == counts


def test_with_an_archive_nothing_leaves_the_views(tables: tuple[str, ...], tmp_path: Path) -> None:
    clock = Clock(START + timedelta(days=11, hours=6))
    settings = {"keep_requests_days": 3, "keep_samples_days": 5, "archive": str(tmp_path / "cold")}
    with parts_of(tmp_path / "x.duckdb", clock, **settings) as parts:
        import_sources(parts.store, list(recognise(tables).sources), Options(), lambda _: None)
        counts = "select (select count(*) from requests), (select count(*) from engine_samples)"
        Upkeep(parts).run()
        assert ask(parts, counts) == [(12, 12)]
        assert ask(parts, "select count(*) from stored.requests") == [(4,)]
        clock.forward(days=1)
        Upkeep(parts).run()
        assert ask(parts, counts) == [(12, 12)]
        assert ask(parts, "select count(*) from stored.requests") == [(3,)]


def test_without_an_archive_what_comes_for_a_dropped_day_is_counted(tables: tuple[str, ...], tmp_path: Path) -> None:
    late = tmp_path / "late" / "requests.csv"
    late.parent.mkdir()
    late.write_text(f"ts,model,status\n{START.isoformat()},m,ok\n{(START + timedelta(hours=1)).isoformat()},m,ok\n")
    quality = "select kind, count, example from data_quality where kind like 'late%'"
    with parts_of(None, Clock(START + timedelta(days=11)), keep_requests_days=3) as parts:
        for paths in (tables, (str(late),)):
            assert ask(parts, quality) == []
            import_sources(parts.store, list(recognise(paths).sources), Options(), lambda _: None)
            Upkeep(parts).run()
        assert ask(parts, quality) == [("late_requests_dropped", 2, "newest of 2026-05-01T13:00:00+00:00")]
        Upkeep(parts).run()
        assert ask(parts, quality)[0][1] == 2


def test_the_ledger_forgets_old_scrapes_of_senders_that_number_nothing_and_tells_newer_retries() -> None:
    clock = Clock(START)
    with parts_of(None, clock, keep_ledger_days=2) as parts:
        at = [START - timedelta(days=days) for days in (3, 1)]
        halves = [HalfBatch(Identity("remote-write/a:1", "shape", round(t.timestamp() * 1000)), ()) for t in at]
        own = HalfBatch(Identity("agent", "life", 1), ())
        assert parts.store.commit([*halves, own]) == [True] * 3
        Upkeep(parts).run()
        assert ask(parts, "select count(*) from stored.ledger") == [(2,)]
        assert parts.store.commit([halves[1], own]) == [False, False]


def test_a_forecast_looks_back_beyond_the_requests_and_scrapes_that_are_kept(tmp_path: Path) -> None:
    now = START + timedelta(days=28)
    moments = [START + timedelta(minutes=20 * number, seconds=7) for number in range(28 * 72)]
    requests, samples = tmp_path / "requests.csv", tmp_path / "engine_samples.csv"
    requests.write_text(
        "\n".join(
            ["ts,model,tenant,status,input_tokens,cached_tokens"]
            + [f"{ts.isoformat()},m,t{n % 2},ok,{300 + n % 7},{'' if n % 3 else 30}" for n, ts in enumerate(moments)]
        )
        + "\n"
    )
    samples.write_text(
        "\n".join(
            ["ts,instance,model,interval_seconds,first_tokens"]
            + [f"{ts.isoformat()},i,counted,30,{n % 5}" for n, ts in enumerate(moments)]
        )
        + "\n"
    )
    asked = [("m", None, "requests"), ("m", "t1", "input_tokens"), ("m", None, "cached_tokens"),
             ("counted", None, "requests")]  # fmt: skip
    with parts_of(None, Clock(now)) as parts:
        import_sources(parts.store, list(recognise((str(requests), str(samples))).sources), Options(), lambda _: None)

        def known() -> list[list[float]]:
            return [
                demand(parts.store.reader(), now, model=model, tenant=tenant, signal=signal)[1].tolist()
                for model, tenant, signal in asked
            ]

        before = known()
        for _ in range(2):
            Upkeep(parts).run()
            assert ask(parts, "select count(*) < 1000 from requests") == [(True,)]
            for was, told in zip(before, known(), strict=True):
                assert told[1:] == pytest.approx(was[1:], nan_ok=True)  # the first is rated from its first request on
                assert len(told) > 27 * 144
        assert len(demand(parts.store.reader(), now, model="m", step_seconds=60)[1]) <= 8 * 1440

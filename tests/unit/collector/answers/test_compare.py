"""The canary gate passes equals, fails what is slower, and says when it cannot tell."""

from __future__ import annotations

from datetime import UTC, datetime

import duckdb
import numpy as np
import pytest

from analytics.slo.canary import Side, compare_latencies, compare_shares
from collector.answers.compare import EXIT_CODES, compare
from collector.store.reader import DuckReader
from signals.errors import UnknownNameError
from tests.support.public_store import public_store

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def fill(
    store: duckdb.DuckDBPyConnection, version: str, count: int, *, slower: float = 1.0, long_share: float = 0.2
) -> None:
    rng = np.random.default_rng([count, round(100 * long_share), len(version), ord(version[-1])])
    long = rng.random(count) < long_share
    store.execute(
        """insert into requests (ts, finished_at, request_id, model, status, source, model_version, length_bucket,
                ttft_seconds, tpot_seconds, e2e_seconds, output_tokens)
            select timestamptz '2026-03-01 08:00:00Z' + to_microseconds(cast(second * 1e6 as bigint)),
                timestamptz '2026-03-01 08:00:01Z' + to_microseconds(cast(second * 1e6 as bigint)),
                'r' || second, 'm', 'ok', 'engine', $version, bucket, ttft, 0.02, ttft + 1, 50
            from (select unnest($second) as second, unnest($ttft) as ttft, unnest($bucket) as bucket)""",
        {
            "version": version,
            "second": np.sort(rng.uniform(0, 3600, count)).tolist(),
            "ttft": (rng.lognormal(-1.2, 0.5, count) * np.where(long, 6, 1) * slower).tolist(),
            "bucket": np.where(long, "16k-64k", "0-1k").tolist(),
        },
    )


def gate(store: duckdb.DuckDBPyConnection, **more: object) -> dict[str, object]:
    return compare(DuckReader(store), NOW, by="model_version", a="v1", b="v2", **more)  # type: ignore[arg-type]


@pytest.fixture
def store() -> duckdb.DuckDBPyConnection:
    found = public_store()
    fill(found, "v1", 8000)
    return found


def test_a_canary_that_is_as_fast_passes(store: duckdb.DuckDBPyConnection) -> None:
    fill(store, "v2", 8000)
    found = gate(store, margin=0.2)
    assert (found["verdict"], found["n"], found["quantile"]) == ("pass", [8000, 8000], 0.99)
    low, high = found["interval"]
    assert low < found["effect"] < high


def test_a_canary_that_is_a_third_slower_fails(store: duckdb.DuckDBPyConnection) -> None:
    fill(store, "v2", 4000, slower=1.33)
    found = gate(store)
    assert found["verdict"] == "fail"
    assert found["effect"] == pytest.approx(0.33, abs=0.15)
    assert EXIT_CODES[str(found["verdict"])] == 3


def test_a_canary_with_longer_prompts_is_not_blamed_for_them(store: duckdb.DuckDBPyConnection) -> None:
    fill(store, "v2", 8000, long_share=0.6)
    found = gate(store, margin=0.2)
    assert found["verdict"] == "pass"


def test_few_requests_are_inconclusive(store: duckdb.DuckDBPyConnection) -> None:
    fill(store, "v2", 12)
    found = gate(store)
    assert (found["verdict"], found["effect"], EXIT_CODES["inconclusive"]) == ("inconclusive", None, 1)


def test_goodput_compares_shares_of_bad_requests(store: duckdb.DuckDBPyConnection) -> None:
    fill(store, "v2", 8000, slower=3.0)
    found = gate(store, metric="goodput")
    assert found["verdict"] == "fail"
    assert found["effect"] > 0.05


def test_very_many_requests_are_sampled_and_it_is_told(
    store: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("collector.answers.compare.MOST_READ", 4_000)
    fill(store, "v2", 8000)
    found = gate(store, margin=0.5)
    assert found["caveats"] == ["one request in 4 was compared"]
    assert sum(found["n"]) == pytest.approx(4_000, rel=0.1)


def test_a_metric_may_leave_out_its_unit(store: duckdb.DuckDBPyConnection) -> None:
    fill(store, "v2", 40)
    assert gate(store, metric="ttft")["metric"] == "ttft_seconds"


def test_an_unknown_version_names_those_that_served(store: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(UnknownNameError, match="unknown model_version 'v2'; known: v1"):
        gate(store)


def test_an_unknown_metric_or_dimension_is_refused(store: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'ttft_seconds'"):
        gate(store, metric="tttf_seconds")
    with pytest.raises(UnknownNameError, match="unknown dimension"):
        compare(DuckReader(store), NOW, by="colour", a="v1", b="v2")


def test_the_gate_rarely_fails_equals_and_mostly_catches_a_fifth() -> None:
    rng = np.random.default_rng(3)

    def side(slower: float) -> Side:
        return Side(
            rng.lognormal(-1, 0.6, 1500) * slower, np.sort(rng.uniform(0, 3600, 1500)), np.zeros(1500, dtype=np.int64)
        )

    equal = [compare_latencies(side(1.0), side(1.0), margin=0.1, seed=seed).verdict for seed in range(8)]
    worse = [compare_latencies(side(1.0), side(1.6), margin=0.1, seed=seed).verdict for seed in range(8)]
    assert equal.count("fail") <= 2
    assert worse.count("fail") >= 6
    assert worse.count("pass") == 0


def test_shares_of_a_flawless_pair_pass() -> None:
    flawless = Side(np.zeros(500), np.arange(500.0), np.zeros(500, dtype=np.int64))
    found = compare_shares(flawless, flawless, margin=0.01)
    assert (found.verdict, found.effect) == ("pass", 0.0)
    few = Side(np.zeros(60), np.arange(60.0), np.zeros(60, dtype=np.int64))
    assert compare_shares(few, few, margin=0.01).verdict == "inconclusive"

"""`explain` on recorded runs and on told incidents: shape of the answer, windows, data richness, unknown names."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import duckdb
import numpy as np
import pytest

from collector.answers.explain import explain, explain_counts
from collector.answers.incidents import detect
from collector.store.reader import DuckReader
from signals.errors import ConfigError, InputError, UnknownNameError
from tests.support.public_store import public_store
from tests.unit.analytics.rootcause.incident_stories import CALM_SECONDS, END, MODEL, ONSET, START, Story
from tests.unit.analytics.rootcause.patterns import head_of_line, slow_router
from tests.unit.collector.answers.recorded import at, load

PAYLOADS = Path(__file__).parents[4].parent / "shared" / "payloads"
KEYS = {"verdict", "onset", "stage", "change_kind", "causes", "missing"}
CAUSE_KEYS = {"cause", "confidence", "segment", "evidence", "contra", "related_change", "next_step"}


@pytest.fixture(scope="module")
def recorded() -> tuple[duckdb.DuckDBPyConnection, object]:
    if not (PAYLOADS / "vllm-live").is_dir():
        pytest.skip("the recorded run is not beside this repository")
    connection = public_store()
    start = load(connection, PAYLOADS / "vllm-live", PAYLOADS / "vllm-live-otlp")
    return connection, start


@pytest.fixture(scope="module")
def blocked() -> DuckReader:
    story = Story()
    head_of_line(story)
    return DuckReader(story.store())


def test_an_answer_has_the_keys_that_others_rely_on_and_is_json(blocked: DuckReader) -> None:
    answer = explain(blocked, END, model=MODEL, start=ONSET, end=END)
    assert set(answer) >= KEYS
    assert answer["verdict"] == "explained"
    causes = answer["causes"]
    assert isinstance(causes, list)
    for cause in causes:
        assert set(cause) >= CAUSE_KEYS
        assert all({"signal", "before", "during", "why"} <= set(item) for item in cause["evidence"])
        assert 0 <= cause["confidence"] <= 1
    assert json.loads(json.dumps(answer, allow_nan=False)) == answer
    assert str(answer["onset"]).endswith("Z")


def test_without_a_window_the_most_significant_spike_is_found(blocked: DuckReader) -> None:
    answer = explain(blocked, END, model=MODEL)
    assert answer["onset"] == "2026-03-02T13:00:00.000Z"
    assert answer["stage"] == "queue"


def test_a_moment_in_the_spike_finds_it_and_one_before_does_not(blocked: DuckReader) -> None:
    inside = explain(blocked, END, model=MODEL, at=ONSET + timedelta(minutes=5))
    calm = explain(blocked, END, model=MODEL, at=START + timedelta(minutes=20))
    assert inside["onset"] == "2026-03-02T13:00:00.000Z"
    assert calm["verdict"] == "no_significant_change"
    assert calm["causes"] == []


def test_the_same_time_yesterday_joins_the_baseline_where_it_is_stored() -> None:
    story = Story()
    head_of_line(story)
    connection = story.store()
    connection.execute(
        "insert into requests by name select ts - interval 1 day as ts, request_id || '-y' as request_id, model, "
        "instance, ttft_seconds / 200 as ttft_seconds, status, source from requests"
    )
    answer = explain(DuckReader(connection), END, model=MODEL, start=ONSET, end=END)
    baseline = answer["baseline"]
    assert isinstance(baseline, dict)
    assert baseline["parts"] == ["hour", "day"]
    assert CALM_SECONDS < baseline["seconds"] <= CALM_SECONDS + 900
    causes = answer["causes"]
    assert isinstance(causes, list)
    assert causes[0]["cause"] == "admission_blocked"


def test_nothing_stored_is_said_and_an_unknown_model_is_an_error(blocked: DuckReader) -> None:
    empty = explain(DuckReader(public_store()), END, model=MODEL)
    assert empty["verdict"] == "inconclusive"
    assert empty["missing"]
    with pytest.raises(UnknownNameError, match="story/model"):
        explain(blocked, END, model="story/modle")
    with pytest.raises(UnknownNameError, match="ttft"):
        explain(blocked, END, model=MODEL, metric="tttf")


def test_a_ratio_that_nothing_recorded_is_cannot_tell_not_no(blocked: DuckReader) -> None:
    answer = explain(blocked, END, model=MODEL, metric="acceptance")
    assert answer["verdict"] == "inconclusive"
    assert answer["missing"]


def test_slow_requests_without_dearer_tokens_are_no_rise_in_cost_and_the_figures_are_told(blocked: DuckReader) -> None:
    answer = explain(blocked, END, model=MODEL, metric="cost", start=ONSET, end=END)
    assert "output token" in str(answer["because"])


def test_what_the_gateway_costs_is_named_with_its_figure() -> None:
    story = Story()
    slow_router(story)
    answer = explain(DuckReader(story.store()), END, model=MODEL, start=ONSET, end=END)
    causes = answer["causes"]
    assert isinstance(causes, list)
    assert answer["stage"] == "gateway"
    told = {item["signal"]: item for item in causes[0]["evidence"]}["gateway_seconds"]
    assert told["before"] < 0.02 < 1 < told["during"]


def test_pages_alone_tell_stage_and_cause() -> None:
    story = Story()
    head_of_line(story)
    story.s["queue_seconds_sum"] = np.where(story.busy, 40.0, 0.1)
    story.s["prefill_seconds_sum"] = np.full(len(story.s["t"]), 0.6)
    connection = story.store()
    connection.execute("delete from requests")
    connection.execute(
        "insert into engine_bins (ts, interval_seconds, instance, model, metric, edge_lo, edge_hi, count) "
        "select $start + to_seconds(step), 15, 'a', $model, 'ttft_seconds', low, high, "
        "case when step < $calm then if(low = 0, 20, 0) else if(low = 0, 1, 19) end "
        "from range(0, $calm + 900, 15) t(step), (values (0.0, 0.5), (0.5, 20.0)) e(low, high)",
        {"start": START, "model": MODEL, "calm": CALM_SECONDS},
    )
    answer = explain(DuckReader(connection), END, model=MODEL, start=ONSET, end=END)
    causes = answer["causes"]
    assert isinstance(causes, list)
    assert (answer["source"], answer["stage_source"], answer["stage"]) == ("pages", "pages", "queue")
    assert causes[0]["cause"] == "admission_blocked"


def test_counts_alone_are_explained() -> None:
    counts = {
        "tenant": np.array(["a", "b", "c"], dtype=object),
        "n_before": np.array([1000, 1000, 1000]),
        "bad_before": np.array([10, 12, 9]),
        "n_during": np.array([500, 500, 500]),
        "bad_during": np.array([5, 200, 4]),
    }
    segments = explain_counts(counts)["segments"]
    assert isinstance(segments, list)
    assert segments[0]["segment"] == {"tenant": "b"}
    assert set(segments[0]) >= {"segment", "score", "excess", "recall", "precision", "kind"}
    with pytest.raises(InputError, match="n_before"):
        explain_counts({"tenant": counts["tenant"]})


def test_an_incident_is_found_once_however_often_it_is_looked_for(blocked: DuckReader) -> None:
    first = detect(blocked, END)
    again = detect(blocked, END + timedelta(seconds=40))
    assert len({row["incident"] for row in first}) == len(first)
    assert {row["incident"] for row in first} == {row["incident"] for row in again}
    row = next(row for row in first if row["metric"] == "ttft")
    assert row["ended_at"] is None
    assert json.loads(str(row["document"]))["verdict"] == "explained"


def test_the_recorded_burst_is_queueing_for_seats_with_its_figures(
    recorded: tuple[duckdb.DuckDBPyConnection, object],
) -> None:
    connection, start = recorded
    answer = explain(DuckReader(connection), at(start, 352), model="tiny-llama", start=at(start, 68), end=at(start, 93))  # type: ignore[arg-type]
    causes = answer["causes"]
    assert isinstance(causes, list)
    assert answer["stage"] == "queue"
    told = [item for cause in causes for item in cause["evidence"]]
    assert max(item["during"] for item in told if item["signal"] == "queue_depth") >= 102
    assert 16 in [item["during"] for item in told if item["signal"] == "running"]
    kv = next(item for item in told if item["signal"].startswith("kv_usage"))
    assert kv["range"] == pytest.approx([0.33, 0.46], abs=0.03)


@pytest.mark.parametrize("window", [(290, 310), (267, 307)])
def test_the_recorded_memory_pressure_is_preemption(
    recorded: tuple[duckdb.DuckDBPyConnection, object], window: tuple[int, int]
) -> None:
    connection, start = recorded
    answer = explain(
        DuckReader(connection),
        at(start, 352),
        model="tiny-llama",
        start=at(start, window[0]),
        end=at(start, window[1]),  # type: ignore[arg-type]
    )
    causes = answer["causes"]
    assert isinstance(causes, list)
    assert causes[0]["cause"] == "preemption"
    told = {item["signal"]: item for item in causes[0]["evidence"]}
    assert told["kv_usage_max_ratio"]["during"] == pytest.approx(0.984, abs=0.001)


def test_the_recorded_light_phase_is_no_incident(recorded: tuple[duckdb.DuckDBPyConnection, object]) -> None:
    connection, start = recorded
    reader = DuckReader(connection)
    for asked in ({"start": at(start, 13), "end": at(start, 68)}, {"at": at(start, 40)}):  # type: ignore[arg-type]
        assert explain(reader, at(start, 352), model="tiny-llama", **asked)["verdict"] == "no_significant_change"  # type: ignore[arg-type]


def test_a_window_that_ends_before_it_begins_is_refused(blocked: DuckReader) -> None:
    with pytest.raises(ConfigError, match="the window is empty"):
        explain(blocked, END, model=MODEL, start=END, end=ONSET)

"""Dynamo's real frontend and mocker workers under a known load: what the store says equals what the client counted.

Counts are equal. Times are compared within `LATE_SECONDS`: the client sees a token when it has travelled through
HTTP and this machine's scheduler, the frontend when it sends it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, median

import pytest
import yaml

from benchmarks.agentlab.rig import Rig, free_port
from tests.live import dynamo_stack, stream_load
from tests.live.stream_load import Load, Told
from tests.support.steps import select, start_collector, until

pytestmark = pytest.mark.live

#: A virtual environment of its own: half a gigabyte that nothing else needs.
HOME = Path(__file__).resolve().parents[2] / "build" / "live" / "dynamo"
LOAD = Load(requests=120, at_once=8, seed=11)
LEFT = 5
#: How much later the client sees a token, on average over the run.
LATE_SECONDS = 0.05
INTERVAL = "500ms"


@dataclass(frozen=True, slots=True)
class Run:
    """What the client was told, and how to ask the store."""

    told: list[Told]
    ask: Callable[[str], list[dict[str, object]]]
    gateway: dict[str, float] = field(default_factory=dict)

    def total(self, count: Callable[[Told], float]) -> float:
        return sum(count(told) for told in self.told)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Start everything, send the load, wait until the store has heard of it, and hang up on some more."""
    python = dynamo_stack.install(HOME)
    if python is None:
        pytest.skip("ai-dynamo cannot be installed here")
    rig = Rig(tmp_path_factory.mktemp("dynamo"), None)
    try:
        yield _run(rig, python)
    finally:
        rig.close()


def _run(rig: Rig, python: str) -> Run:
    spans = f"127.0.0.1:{free_port()}"
    stack = dynamo_stack.start(rig, python, spans)
    _, collector = start_collector(rig)
    rig.start_agent(_config(rig, stack, spans))
    scraped = [f'sloscope_agent_scrapes_total{{instance="{name}",state="ok"}}' for name in _names(stack)]
    until(lambda: all(rig.own_metrics().get(series, 0.0) >= 2 for series in scraped))
    found = Run(stream_load.run(stack.frontend, dynamo_stack.MODEL, LOAD), lambda query: select(collector, query))
    until(lambda: _requests(found) == LOAD.requests)
    until(lambda: _gateway(found).get("gateway_requests", 0.0) == LOAD.requests)
    found.gateway.update(_gateway(found))
    for _ in range(LEFT):
        stream_load.leave(stack.frontend, dynamo_stack.MODEL, 200)
    until(lambda: _gateway(found).get("gateway_aborted", 0.0) == LEFT)
    until(lambda: _joined(found) == LOAD.requests + LEFT)
    return found


def _names(stack: dynamo_stack.Stack) -> list[str]:
    return ["frontend", *(f"worker-{number}" for number in range(len(stack.workers)))]


def _config(rig: Rig, stack: dynamo_stack.Stack, spans: str) -> Path:
    targets: list[dict[str, object]] = [{"url": stack.frontend, "instance": "frontend", "interval": INTERVAL}]
    for number, url in enumerate(stack.workers):
        name = f"worker-{number}"
        targets.append(
            {"url": url, "instance": name, "pool": "live", "model": dynamo_stack.MODEL, "interval": INTERVAL}
        )
    config = rig.config(targets, gpu={"enabled": "no"}, host={"enabled": False}, spans={"listen": spans})
    data = yaml.safe_load(config.read_text())
    data["requests"] = [{"path": f"{stack.trace}.*.jsonl.gz", "model": dynamo_stack.MODEL, "interval": "200ms"}]
    config.write_text(yaml.safe_dump(data))
    return config


def _requests(run: Run) -> int:
    (row,) = run.ask("select count(*) as n from requests")
    return int(str(row["n"]))


def _joined(run: Run) -> int:
    """Return the requests of which both the span and the trace line came."""
    (row,) = run.ask("select count(*) as n from requests where source = 'joined'")
    return int(str(row["n"]))


def _gateway(run: Run) -> dict[str, float]:
    """Return the sums of the frontend's counters; `gateway_requests` are those that ended well."""
    rows = run.ask(
        "select signal, sum(value) as total from signal_samples where instance = 'frontend'"
        " and (signal <> 'gateway_requests' or attributes['status'] = 'success') group by signal"
    )
    return {str(row["signal"]): float(str(row["total"])) for row in rows}


def test_the_frontend_counts_every_request_and_token_that_was_answered(run: Run) -> None:
    assert run.gateway["gateway_requests"] == LOAD.requests
    assert run.gateway["gateway_input_tokens"] == run.total(lambda told: told.input_tokens)
    assert run.gateway["gateway_output_tokens"] == run.total(lambda told: told.output_tokens)
    assert run.gateway.get("gateway_failures", 0.0) == 0
    assert run.total(lambda told: len(told.token_at)) == run.total(lambda told: told.output_tokens)


def test_the_frontends_times_are_the_clients_within_what_a_token_takes_to_arrive(run: Run) -> None:
    assert run.gateway["gateway_ttft_seconds_count"] == LOAD.requests
    late = fmean(told.ttft_seconds for told in run.told) - run.gateway["gateway_ttft_seconds_sum"] / LOAD.requests
    assert 0 <= late < LATE_SECONDS
    gaps = [gap for told in run.told for gap in told.gaps_seconds]
    assert run.gateway["gateway_itl_seconds_count"] == len(gaps)
    assert abs(run.gateway["gateway_itl_seconds_sum"] / len(gaps) - fmean(gaps)) < LATE_SECONDS


def test_the_bins_of_first_tokens_hold_as_many_requests_as_the_client_saw_by_then(run: Run) -> None:
    rows = run.ask(
        "select edge_lo, edge_hi, sum(count) as n from engine_bins where instance = 'frontend'"
        " and metric = 'gateway_ttft_seconds' group by all order by edge_lo"
    )
    seen = sorted(told.ttft_seconds for told in run.told)
    below = 0
    for row in rows:
        below += int(str(row["n"]))
        if row["edge_hi"] is not None:
            edge = float(str(row["edge_hi"]))
            assert sum(ttft <= edge for ttft in seen) <= below
    assert below == LOAD.requests + LEFT


def test_span_and_trace_line_of_a_request_are_one_row_with_the_clients_tokens_and_times(run: Run) -> None:
    rows = {
        str(row["request_id"]): row
        for row in run.ask(
            "select request_id, input_tokens, cached_tokens, output_tokens, ttft_seconds, e2e_seconds, instance, model,"
            " status, source, engine_ttft_seconds from requests"
        )
    }
    assert len(rows) == LOAD.requests + LEFT == _requests(run)
    late = []
    for told in run.told:
        row = rows[told.request_id]
        counted = (row["input_tokens"], row["cached_tokens"], row["output_tokens"])
        assert counted == (told.input_tokens, told.cached_tokens, told.output_tokens)
        assert (row["model"], row["status"], row["source"]) == (dynamo_stack.MODEL, "ok", "joined")
        assert abs(float(str(row["ttft_seconds"])) - float(str(row["engine_ttft_seconds"]))) < LATE_SECONDS
        late.append(told.ttft_seconds - float(str(row["ttft_seconds"])))
    assert min(late) > 0
    assert median(late) < LATE_SECONDS
    assert {row["instance"] for row in rows.values()} <= {"worker-0", "worker-1"}


def test_the_workers_together_finished_what_the_frontend_sent_them(run: Run) -> None:
    rows = run.ask(
        "select model, sum(first_tokens) as first, sum(finished) as finished, max(running) as running,"
        " count(distinct instance) as workers from engine_samples where engine = 'dynamo_worker' group by model"
    )
    (row,) = rows
    assert (row["model"], row["workers"]) == (dynamo_stack.MODEL, 2)
    assert row["first"] == LOAD.requests + LEFT
    assert LOAD.requests <= float(str(row["finished"])) <= LOAD.requests + LEFT
    assert 0 < float(str(row["running"])) <= LOAD.at_once


def test_clients_that_hang_up_are_counted_apart(run: Run) -> None:
    (row,) = run.ask(
        "select sum(value) as total from signal_samples where signal = 'gateway_failures'"
        " and attributes['reason'] = 'cancelled'"
    )
    assert row["total"] == LEFT


def test_workers_are_known_by_the_name_that_their_requests_carry(run: Run) -> None:
    aliases = run.ask("select distinct instance from instance_aliases order by instance")
    assert [row["instance"] for row in aliases] == ["worker-0", "worker-1"]
    lives = run.ask("select instance, count(*) as n from instances group by instance order by instance")
    assert lives == [{"instance": name, "n": 1} for name in ("frontend", "worker-0", "worker-1")]

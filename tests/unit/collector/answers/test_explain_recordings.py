"""`explain` on the recorded runs that ship with the product, imported as a user would: burst, full memory, gateway."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from collector.answers.explain import explain
from collector.demo.recording import unpack
from collector.importer.run import Options, import_sources
from collector.importer.sources import recognise
from collector.store.store import Store

MODEL = "tiny-llama"
#: Asks about seconds [from, to) of a run.
Ask = Callable[[float, float], dict[str, object]]


def _run(folder: Path, pages: str, *names: str) -> Iterator[Ask]:
    """Yield a question about a run whose seconds count from the first of its `pages`."""
    places = [unpack(name, folder) for name in (pages, *names)]
    began = json.loads((places[0] / "index.jsonl").read_text().splitlines()[0])["t"]
    with Store.open(folder / "run.duckdb") as store:
        import_sources(store, list(recognise(tuple(map(str, places))).sources), Options(), lambda _: None)
        reader = store.reader()
        now = reader.newest()
        assert now is not None

        def ask(first: float, last: float) -> dict[str, object]:
            start, end = (datetime.fromtimestamp(began + second, UTC) for second in (first, last))
            return explain(reader, now, model=MODEL, start=start, end=end)

        yield ask


@pytest.fixture(scope="module")
def spans(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    yield from _run(tmp_path_factory.mktemp("spans"), "vllm-live", "vllm-live-otlp")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    yield from _run(tmp_path_factory.mktemp("pages"), "vllm-live")


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    yield from _run(
        tmp_path_factory.mktemp("gateway"),
        "litellm-live", "vllm-behind-litellm", "vllm-behind-litellm-otlp", "litellm-otlp",
    )  # fmt: skip


def _causes(answer: dict[str, object]) -> list[dict[str, object]]:
    causes = answer["causes"]
    assert isinstance(causes, list)
    return causes


def _told(cause: dict[str, object]) -> dict[str, dict[str, object]]:
    evidence = cause["evidence"]
    assert isinstance(evidence, list)
    return {item["signal"]: item for item in evidence}


@pytest.mark.parametrize("source", ["spans", "pages"])
def test_a_queue_that_stands_after_its_burst_is_admission_by_max_sequences(
    source: str, request: pytest.FixtureRequest
) -> None:
    answer = request.getfixturevalue(source)(80, 176)
    first = _causes(answer)[0]
    told = _told(first)
    assert (answer["verdict"], answer["stage"], first["cause"]) == ("explained", "queue", "admission_blocked")
    assert told["running"]["during"] == 16
    assert "max sequences" in str(told["running"]["why"])
    assert told["queue_depth"]["during"] == 103
    assert told["kv_usage_max_ratio"]["range"] == pytest.approx([0.28, 0.50], abs=0.02)
    assert "burst" in str(told["requests_per_second"]["why"])


def test_the_burst_itself_is_traffic_that_takes_every_seat(spans: Ask) -> None:
    first = _causes(spans(68, 93))[0]
    assert first["cause"] == "traffic_spike"
    assert _told(first)["running"]["during"] == 16


@pytest.mark.parametrize("source", ["spans", "pages"])
def test_memory_pressure_is_preemption_and_bound_by_kv(source: str, request: pytest.FixtureRequest) -> None:
    answer = request.getfixturevalue(source)(290, 310)
    first = _causes(answer)[0]
    assert (answer["source"], answer["stage"]) == ("pages" if source == "pages" else "requests", "queue")
    assert first["cause"] == "preemption"
    assert _told(first)["kv_usage_max_ratio"]["during"] == pytest.approx(0.984, abs=0.001)
    assert float(str(_told(first)["preemptions"]["during"])) >= 3


def test_what_the_gateway_adds_in_a_burst_is_named_with_its_figure(gateway: Ask) -> None:
    answer = gateway(25, 30)
    found = next(cause for cause in _causes(answer) if cause["cause"] == "gateway_overhead")
    told = _told(found)["gateway_seconds"]
    assert float(str(told["before"])) < 0.2 < 1.5 < float(str(told["during"]))
    seconds = answer["stage_seconds"]
    assert isinstance(seconds, dict)
    assert seconds["gateway"] > 1.5

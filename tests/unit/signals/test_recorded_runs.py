"""Whole recorded runs, page after page, end at the numbers that their clients measured."""

from __future__ import annotations

from collections import Counter

import pytest

from signals.dialects import registry
from signals.dialects.reader import PageReader
from signals.pages import PageParser
from signals.readings import State, advance
from tests.support.pages import SHARED


def run(folder: str, engine: str) -> tuple[Counter[str], int]:
    """Return what happened over a run, attributes added up, and how many scrapes were frozen."""
    if not (SHARED / folder).is_dir():
        pytest.skip(f"the recorded run {folder} is not here")
    reader, parser = PageReader(registry.get(engine), "m"), PageParser()
    state: State | None = None
    total: Counter[str] = Counter()
    frozen = 0
    for path in sorted((SHARED / folder).glob("[0-9]*.txt")):
        state, found = advance(state, reader.read(parser.parse(path.read_text())))
        frozen += state.frozen
        for increments in found:
            for (signal, _), amount in increments.counters.items():
                total[signal] += amount  # type: ignore[assignment]
            for histogram in increments.histograms:
                total[f"{histogram.signal}#"] += histogram.count
    return total, frozen


def test_a_vllm_run_with_aborts_and_preemptions() -> None:
    total, frozen = run("vllm-live", "vllm")
    assert (total["prefix_hit_tokens"], total["finished"], total["first_tokens"]) == (60_416, 350, 365)
    assert (total["preemptions"], total["spec_drafts"], total["spec_accepted_tokens"]) == (10, 823, 2_068)
    assert total["ttft_seconds#"] == 365
    assert frozen == 0


def test_a_run_of_two_api_servers_counts_the_requests_of_both() -> None:
    total, _ = run("vllm-2api", "vllm")
    assert (total["first_tokens"], total["finished"]) == (40, 30)


def test_a_dynamo_frontend_and_its_workers_count_the_same_requests() -> None:
    frontend, _ = run("dynamo-frontend", "dynamo")
    workers = [run(f"dynamo-worker{k}", "dynamo_worker")[0] for k in (1, 2)]
    assert frontend["gateway_requests"] == 541
    assert frontend["gateway_failures"] == 13
    assert sum(worker["first_tokens"] for worker in workers) == 541
    assert sum(worker["finished"] for worker in workers) == 541


def test_a_gateway_counts_what_its_engine_finished() -> None:
    gateway, _ = run("litellm-live", "litellm")
    engine, _ = run("vllm-behind-litellm", "vllm")
    assert gateway["gateway_e2e_seconds#"] == engine["finished"] == 145


def test_a_llamacpp_run_adds_cached_prompt_tokens() -> None:
    total, _ = run("llamacpp-live", "llamacpp")
    assert (total["prompt_tokens"], total["prefix_hit_tokens"]) == (84_754, 36_864)

"""Raw series of other senders become the scrapes that a page would have become."""

from __future__ import annotations

import pytest

from collector.receivers.remote_write import _REQUEST, read_write_request
from collector.receivers.series import Labels, SeriesTargets, labels_of
from signals.errors import InputError, PayloadError
from signals.records import FAILED, Scrape, Target

S = 1_000_000_000
T0 = 1_780_000_000 * S
TARGET = Target("10.0.0.1:8000")


def series(prompts: float, first_tokens: float = 0.0, waiting: float = 1.0) -> dict[Labels, float]:
    model = {"model_name": "m", "engine": "0"}
    found = {
        labels_of("vllm:num_requests_waiting", model): waiting,
        labels_of("vllm:num_requests_running", model): 2.0,
        labels_of("vllm:prompt_tokens_total", model): prompts,
        labels_of("vllm:time_to_first_token_seconds_sum", model): first_tokens,
        labels_of("vllm:time_to_first_token_seconds_count", model): first_tokens,
    }
    for edge in ("0.5", "1.0", "+Inf"):
        found[labels_of("vllm:time_to_first_token_seconds_bucket", {**model, "le": edge})] = (
            first_tokens if edge != "0.5" else 0.0
        )
    return found


def counters(scrape: Scrape | None) -> dict[str, float]:
    assert scrape is not None
    return {name: value for found in scrape.increments for (name, _), value in found.counters.items()}


def test_the_first_page_only_sets_the_start() -> None:
    first = SeriesTargets().scrape("rw", TARGET, T0, series(100))
    assert first is not None
    assert counters(first) == {}
    assert first.increments[0].gauges[("queue_depth", ())] == 1.0


def test_the_second_page_is_an_increase_over_its_interval() -> None:
    targets = SeriesTargets()
    targets.scrape("rw", TARGET, T0, series(100))
    second = targets.scrape("rw", TARGET, T0 + 15 * S, series(130, first_tokens=2))
    assert second is not None
    assert counters(second)["prompt_tokens"] == 30
    assert second.start_ns == T0
    (ttft,) = [h for h in second.increments[0].histograms if h.signal == "ttft_seconds"]
    assert (ttft.edges, ttft.counts) == ((0.5, 1.0), (0, 2, 0))


def test_a_restart_counts_from_zero() -> None:
    targets = SeriesTargets()
    targets.scrape("rw", TARGET, T0, series(100))
    assert counters(targets.scrape("rw", TARGET, T0 + S, series(7)))["prompt_tokens"] == 7


def test_a_page_in_two_pieces_counts_once() -> None:
    targets = SeriesTargets()
    targets.scrape("rw", TARGET, T0, series(100))
    page = series(130)
    half = dict(list(page.items())[:3])
    other = dict(list(page.items())[3:])
    first = targets.scrape("rw", TARGET, T0 + S, half)
    second = targets.scrape("rw", TARGET, T0 + S, other)
    total = counters(first).get("prompt_tokens", 0) + counters(second).get("prompt_tokens", 0)
    assert total == 30
    assert first is not None
    assert second is not None
    assert first.identity != second.identity


def test_a_first_page_in_two_pieces_is_no_increase() -> None:
    targets = SeriesTargets()
    page = list(series(100).items())
    targets.scrape("rw", TARGET, T0, dict(page[:4]))
    targets.scrape("rw", TARGET, T0, dict(page[4:]))
    assert counters(targets.scrape("rw", TARGET, T0 + S, series(101)))["prompt_tokens"] == 1


def test_a_page_that_is_sent_again_says_nothing_new() -> None:
    targets = SeriesTargets()
    targets.scrape("rw", TARGET, T0, series(100))
    targets.scrape("rw", TARGET, T0 + S, series(130))
    assert targets.scrape("rw", TARGET, T0 + S, series(130)) is None


def test_older_pages_are_refused() -> None:
    targets = SeriesTargets()
    targets.scrape("rw", TARGET, T0, series(100))
    with pytest.raises(InputError, match="older"):
        targets.scrape("rw", TARGET, T0 - S, series(90))


def test_added_up_deltas_count_from_the_first_on() -> None:
    assert counters(SeriesTargets().scrape("otlp", TARGET, T0, series(100), from_zero=True))["prompt_tokens"] == 100


def test_series_of_no_engine_are_let_go() -> None:
    assert SeriesTargets().scrape("rw", TARGET, T0, {labels_of("node_load1", {}): 1.0}) is None


def test_a_target_that_is_down_is_a_failed_scrape_once_it_is_known() -> None:
    targets = SeriesTargets()
    assert targets.failed("rw", TARGET, T0, "down") is None
    targets.scrape("rw", TARGET, T0, series(100))
    failed = targets.failed("rw", TARGET, T0 + S, "down")
    assert failed is not None
    assert (failed.state, failed.last_groups) == (FAILED, (("m", "both"),))


def write_request(samples: list[tuple[dict[str, str], float, int]]) -> bytes:
    message = _REQUEST()
    for labels, value, time_ms in samples:
        one = message.timeseries.add()
        for name, word in labels.items():
            one.labels.add(name=name, value=word)
        one.samples.add(value=value, timestamp=time_ms)
    return bytes(message.SerializeToString())


def test_remote_write_series_are_gathered_by_target_and_time() -> None:
    body = write_request(
        [
            ({"__name__": "vllm:x", "instance": "a:1", "job": "j", "model_name": "m"}, 1.0, 2_000),
            ({"__name__": "up", "instance": "a:1", "job": "j"}, 1.0, 2_000),
            ({"__name__": "vllm:x", "instance": "b:1", "job": "j", "region": "eu"}, float("nan"), 1_000),
            ({"instance": "b:1"}, 5.0, 1_000),
        ]
    )
    older, newer = read_write_request(body)
    assert (older.target.instance, older.target.region, older.samples) == ("b:1", "eu", {})
    assert (newer.up, newer.samples) == (1.0, {(("__name__", "vllm:x"), ("model_name", "m")): 1.0})


def test_a_body_that_is_no_write_request_is_named() -> None:
    with pytest.raises(PayloadError):
        read_write_request(b"\xff\xff\xff")


def test_a_page_that_can_no_longer_be_told_from_a_retry_is_refused() -> None:
    oldest = T0
    targets = SeriesTargets(lambda: oldest)
    with pytest.raises(InputError, match="older than what is told from a retry"):
        targets.scrape("rw", TARGET, T0 - 1, series(100))
    assert targets.scrape("rw", TARGET, T0, series(100)) is not None
    oldest = T0 + 60 * S
    assert targets.failed("rw", TARGET, T0 + 30 * S, "down") is None
    assert targets.failed("rw", TARGET, T0 + 90 * S, "down") is not None

"""What the agent writes the collector reads: decode(encode(x)) is x, for every recorded page and every kind of row."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.encode import Encoder, encode_host_rows, encode_scrape, host_batch, seal
from collector.receivers.decode import decode_resource, parse_export
from signals.dialects.reader import PageReader
from signals.dialects.registry import detect
from signals.pages import PageParser
from signals.readings import HistogramIncrement, Increments, State, advance
from signals.records import FAILED, GONE, OK, HostRows, Identity, Scrape, Target
from tests.support import pages

TIME_NS = 1_800_000_000_000_000_000
IDENTITY = Identity("node", "life", 7)


def wanted(scrape: Scrape) -> Scrape:
    """Return a scrape as it can arrive: missing gauges do not travel, and neither do notes on resets."""
    return replace(
        scrape,
        increments=tuple(
            replace(
                found,
                gauges={key: value for key, value in found.gauges.items() if value is not None},
                histograms=tuple(sorted(found.histograms, key=_place)),
                resets=0,
                moved=any(value > 0 for value in found.counters.values()),
            )
            for found in scrape.increments
        ),
    )


def arrived(body: bytes) -> Scrape:
    (message,) = parse_export(body).resource_metrics
    scrape = decode_resource(message)
    assert isinstance(scrape, Scrape)
    return replace(
        scrape,
        increments=tuple(
            replace(found, histograms=tuple(sorted(found.histograms, key=_place))) for found in scrape.increments
        ),
    )


def _place(histogram: HistogramIncrement) -> tuple[object, ...]:
    return (histogram.signal, histogram.attributes, histogram.edges, histogram.counts, histogram.sum)


@pytest.mark.parametrize("name", pages.names())
def test_every_recorded_page_arrives_as_it_was_read(name: str) -> None:
    page = PageParser().parse(pages.read(name))
    dialect = detect(page.layout)
    assert dialect is not None
    reading = PageReader(dialect).read(page)
    _, increments = advance(State(reading.process_start), reading)
    target = Target("instance", dialect.engine, pool="p")
    scrape = Scrape(
        IDENTITY, target, TIME_NS, TIME_NS - 1, OK, increments, facts=dict(reading.facts), process_start=1.5
    )
    encoder = Encoder()
    for _ in range(2):
        assert arrived(seal([encoder.scrape(scrape)], TIME_NS)) == wanted(scrape)


names = st.text("abcxyz_", min_size=1, max_size=8)
attributes = st.dictionaries(names, st.text(max_size=5).filter(bool), max_size=2).map(
    lambda d: tuple(sorted(d.items()))
)
numbers = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def histograms(draw: st.DrawFn) -> HistogramIncrement:
    edges = tuple(sorted(draw(st.sets(st.floats(0.001, 1e6), min_size=1, max_size=5))))
    counts = tuple(draw(st.lists(st.integers(0, 2**40), min_size=len(edges) + 1, max_size=len(edges) + 1)))
    return HistogramIncrement("h_" + draw(names), draw(attributes), edges, counts, draw(numbers), sum(counts))


@st.composite
def groups(draw: st.DrawFn) -> Increments:
    gauges = draw(st.dictionaries(st.tuples(names.map(lambda n: "g_" + n), attributes), numbers, max_size=4))
    counters = draw(st.dictionaries(st.tuples(names.map(lambda n: "c_" + n), attributes), numbers, max_size=4))
    found = draw(st.lists(histograms(), max_size=3, unique_by=lambda h: (h.signal, h.attributes)))
    return Increments(draw(st.none() | names), draw(st.none() | names), gauges, counters, tuple(found))


@settings(max_examples=60, deadline=None)
@given(st.lists(groups(), min_size=1, max_size=3, unique_by=lambda g: (g.model, g.role)), st.integers(1, 2**62))
def test_any_increments_arrive_exactly(found: list[Increments], start_ns: int) -> None:
    scrape = Scrape(IDENTITY, Target("i"), TIME_NS, start_ns, OK, tuple(found))
    assert arrived(seal([Encoder().scrape(scrape)])) == wanted(scrape)


@pytest.mark.parametrize("state", [FAILED, GONE])
def test_a_scrape_without_a_page_arrives_with_the_groups_that_are_blind_now(state: str) -> None:
    scrape = Scrape(IDENTITY, Target("i", "vllm"), TIME_NS, 5, state, last_groups=(("m", None),), error="why")
    assert arrived(seal([Encoder().scrape(scrape)])) == scrape


def test_many_batches_travel_in_one_body_and_keep_their_identities() -> None:
    encoder = Encoder()
    bodies = [
        encoder.scrape(Scrape(Identity("node", "life", n), Target("i"), TIME_NS, None, FAILED)) for n in range(1, 4)
    ]
    message = parse_export(seal(bodies, TIME_NS))
    found = [decode_resource(part).identity.sequence for part in message.resource_metrics]
    assert found == [1, 2, 3]


def test_messages_and_bytes_say_the_same() -> None:
    scrape = Scrape(IDENTITY, Target("i"), TIME_NS, None, FAILED)
    assert decode_resource(encode_scrape(scrape)) == scrape


def test_gpu_and_host_rows_arrive_as_text_and_numbers() -> None:
    rows = {
        "gpu_samples": ({"gpu": "GPU-1", "index": 0, "sm_active_ratio": 0.5, "throttle_reasons": ("a", "b")},),
        "host_samples": ({"cpu_ratio": 0.25},),
    }
    batch = HostRows(IDENTITY, "host", TIME_NS, None, rows)
    for message in (encode_host_rows(batch), parse_export(seal([host_batch(batch)])).resource_metrics[0]):
        found = decode_resource(message)
        assert isinstance(found, HostRows)
        assert found.rows["gpu_samples"] == (
            {"gpu": "GPU-1", "index": 0.0, "sm_active_ratio": 0.5, "throttle_reasons": "a,b"},
        )
        assert found.rows["host_samples"] == ({"cpu_ratio": 0.25},)
        assert (found.host, found.identity) == ("host", IDENTITY)

"""Makes scrapes for tests: small random ones from hypothesis, and a plain busy engine; times are fixed."""

from __future__ import annotations

from hypothesis import strategies as st

from signals.readings import Attributes, HistogramIncrement, Increments
from signals.records import FAILED, FROZEN, OK, Identity, Scrape, Target

T0 = 1_780_000_000_000_000_000
EDGES = (0.1, 0.5, 1.0, 5.0)

_NAMES = st.sampled_from(["running", "queue_depth", "kv_usage_ratio", "http_requests", "ödd_signal"])
_COUNTERS = st.sampled_from(["prompt_tokens", "finished", "finished_by_reason", "preemptions", "new_counter"])
_HISTOGRAMS = st.sampled_from(["ttft_seconds", "e2e_seconds", "gateway_ttft_seconds"])
_ATTRIBUTES: st.SearchStrategy[Attributes] = st.sampled_from(
    [(), (("reason", "stop"),), (("tenant", "acme"),), (("model", "b"), ("tenant", "globex"))]
)
_NUMBERS = st.floats(allow_nan=False, allow_infinity=False, width=64) | st.sampled_from(
    [0.0, float("nan"), float("inf")]
)


@st.composite
def _histograms(draw: st.DrawFn) -> HistogramIncrement:
    edges = draw(st.sampled_from([EDGES, (1.0,), ()]))
    counts = tuple(draw(st.lists(st.integers(0, 1_000), min_size=len(edges) + 1, max_size=len(edges) + 1)))
    return HistogramIncrement(draw(_HISTOGRAMS), draw(_ATTRIBUTES), edges, counts, draw(st.floats(0, 1e6)), sum(counts))


@st.composite
def _increments(draw: st.DrawFn, model: str | None) -> Increments:
    gauges = draw(st.dictionaries(st.tuples(_NAMES, _ATTRIBUTES), _NUMBERS, max_size=4))
    counters = draw(st.dictionaries(st.tuples(_COUNTERS, _ATTRIBUTES), st.floats(0, 1e9) | st.just(0.0), max_size=4))
    histograms = draw(st.lists(_histograms(), max_size=3, unique_by=lambda h: (h.signal, h.attributes)))
    return Increments(model, draw(st.sampled_from(["both", None])), gauges, counters, tuple(histograms))


@st.composite
def scrapes(draw: st.DrawFn) -> list[Scrape]:
    """Return a few scrapes of one or two targets, some of the same shape, some failed."""
    found = []
    shapes = [
        tuple(draw(_increments(model)) for model in models)
        for models in draw(st.lists(st.sampled_from([("m",), ("m", "n"), (None,)]), min_size=1, max_size=2))
    ]
    for number in range(draw(st.integers(1, 6))):
        target = Target(draw(st.sampled_from(["a:1", "b:2"])), "vllm", pool=draw(st.sampled_from([None, "chat"])))
        state = draw(st.sampled_from([OK, OK, OK, FROZEN, FAILED]))
        found.append(
            Scrape(
                Identity("agent", "epoch", number * 7),
                target,
                T0 + number * 2_000_000_000,
                draw(st.sampled_from([None, T0 - 2_000_000_000])),
                state,
                draw(st.sampled_from(shapes)) if state != FAILED else (),
                (("m", "both"),) if state == FAILED else (),
                {"block_tokens": "16"},
                1_700_000_000.5,
                "refused" if state == FAILED else None,
            )
        )
    return found


def busy(sequence: int, instance: str = "a:1", model: str = "m", running: float = 3.0) -> Scrape:
    """Return one scrape of a busy engine, two seconds after the one before."""
    increments = Increments(
        model,
        "both",
        {("running", ()): running, ("queue_depth", ()): 1.0},
        {
            ("prompt_tokens", ()): 640.0,
            ("first_tokens", ()): 2.0,
            ("finished", ()): 2.0,
            ("finished_by_reason", (("reason", "stop"),)): 2.0,
        },
        (HistogramIncrement("ttft_seconds", (), EDGES, (0, 1, 1, 0, 0), 1.3, 2),),
    )
    time_ns = T0 + sequence * 2_000_000_000
    identity = Identity("agent", "epoch", sequence)
    return Scrape(identity, Target(instance, "vllm"), time_ns, time_ns - 2_000_000_000, OK, (increments,))

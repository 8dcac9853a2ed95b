"""Compares intervals from recorded pages with the exact quantile of the same run's requests, window by window."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from math import inf
from pathlib import Path

import numpy as np
import numpy.typing as npt
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from analytics.slo import quantiles_of_edges
from signals.dialects.reader import PageReader
from signals.dialects.registry import detect
from signals.pages import PageParser
from signals.readings import State, advance

Floats = npt.NDArray[np.float64]

WINDOW_SECONDS = 60.0
#: Folders with pages and, beside them, the spans of every finished request.
RUNS: tuple[str, ...] = ("vllm-live", "vllm-behind-litellm", "vllm-2api")


@dataclass(frozen=True, slots=True)
class Run:
    """A recorded run: scrape times, observations per scrape and bucket, and each request's first token and TTFT."""

    scraped_at: Floats
    bin_at: Floats
    edge_lo: Floats
    edge_hi: Floats
    counts: npt.NDArray[np.int64]
    first_token_at: Floats
    ttft: Floats

    @property
    def edges(self) -> Floats:
        return np.unique(np.concatenate((self.edge_lo, self.edge_hi)))


@dataclass(frozen=True, slots=True)
class Window:
    """One window: the exact P99, the bucket that holds it, and the interval that the pages give."""

    opens: float
    exact: float
    bucket: tuple[float, float]
    interval: tuple[float, float]
    resolved: bool


def read_run(pages: Path, spans: Path) -> Run:
    """Read a folder of pages and a folder of OTLP bodies."""
    first, ttft = _first_tokens(spans)
    rows = list(_bins(pages))
    at, low, high, counts = (np.array(column, dtype=np.float64) for column in zip(*rows, strict=True))
    index = [json.loads(line)["t"] for line in (pages / "index.jsonl").read_text().splitlines()]
    return Run(np.array(index), at, low, high, counts.astype(np.int64), first, ttft)


def windows(run: Run, *, q: float = 0.99) -> Iterator[Window]:
    """Yield every 60-s window that opens at a scrape and has a request, and the whole run.

    A page says nothing of the time between scrapes, so a window closes at the scrape nearest to its end.
    """
    edges = run.edges
    spans = [(run.scraped_at[0], run.scraped_at[-1])]
    for start in run.scraped_at:
        closes = run.scraped_at[np.argmin(np.abs(run.scraped_at - start - WINDOW_SECONDS))]
        if abs(closes - start - WINDOW_SECONDS) < 1:
            spans.append((start, closes))
    for start, closes in spans:
        exact = np.sort(run.ttft[(run.first_token_at > start) & (run.first_token_at <= closes)])
        held = (run.bin_at > start) & (run.bin_at <= closes)
        (found,) = quantiles_of_edges(run.edge_lo[held], run.edge_hi[held], run.counts[held], (q,))
        if not len(exact) or found.low is None:
            continue
        value = float(exact[max(0, int(np.ceil(q * len(exact) - 1e-9)) - 1)])
        place = int(np.searchsorted(edges, value))
        high = inf if found.high is None else found.high
        yield Window(start, value, (float(edges[place - 1]), float(edges[place])), (found.low, high), found.resolved)


def _bins(pages: Path) -> Iterator[tuple[float, float, float, int]]:
    """Yield (time, lower edge, upper edge, observations) of TTFT per scrape."""
    parser, state = PageParser(), None
    reader: PageReader | None = None
    for line in (pages / "index.jsonl").read_text().splitlines():
        entry = json.loads(line)
        if entry.get("status") != 200:
            continue
        page = parser.parse((pages / f"{entry['n']:04d}.txt").read_text())
        if reader is None:
            dialect = detect(page.layout)
            assert dialect is not None, pages
            reader = PageReader(dialect)
        next_state: State
        next_state, increments = advance(state, reader.read(page))
        state = next_state
        for histogram in chain.from_iterable(one.histograms for one in increments):
            if histogram.signal != "ttft_seconds":
                continue
            uppers = (*histogram.edges, inf)
            for low, high, count in zip((0.0, *histogram.edges), uppers, histogram.counts, strict=True):
                if count:
                    yield entry["t"], low, high, count


def _first_tokens(spans: Path) -> tuple[Floats, Floats]:
    """Return when each finished request got its first token, and its TTFT, from engine spans."""
    found = []
    for path in sorted(spans.glob("*.bin")):
        body = ExportTraceServiceRequest.FromString(path.read_bytes())
        for resource in body.resource_spans:
            for span in chain.from_iterable(scope.spans for scope in resource.scope_spans):
                values = {pair.key: pair.value.double_value for pair in span.attributes}
                ttft = values.get("gen_ai.latency.time_to_first_token")
                if span.name == "llm_request" and ttft is not None:
                    found.append((span.start_time_unix_nano / 1e9 + ttft, ttft))
    table = np.array(found, dtype=np.float64)
    return table[:, 0], table[:, 1]

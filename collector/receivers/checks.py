"""Refuses what decodes but cannot be true: times, counts and names out of bounds; never repairs anything."""

from __future__ import annotations

from datetime import UTC, datetime

from signals.errors import PayloadError
from signals.readings import HistogramIncrement
from signals.records import HostRows, Scrape

#: 2000 and 2200: a clock outside is no clock. (An hour off is stored: both clocks are kept.)
FIRST_NS = int(datetime(2000, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000_000
LAST_NS = int(datetime(2200, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000_000
MAX_NAME = 1_000
MAX_COUNT = 1 << 53


def check_batch(batch: Scrape | HostRows) -> None:
    """Raise PayloadError when a batch cannot be what an agent saw."""
    identity = batch.identity
    if not 0 <= identity.sequence < 1 << 62:
        raise PayloadError(f"sequence {identity.sequence} is out of range")
    for name in (identity.agent, identity.epoch):
        if not name or len(name) > MAX_NAME:
            raise PayloadError(f"an identity of {len(name)} characters; expected 1 to {MAX_NAME}")
    if not FIRST_NS <= batch.time_ns < LAST_NS:
        raise PayloadError(f"time {batch.time_ns} ns is outside the years 2000 to 2200")
    if batch.start_ns is not None and not FIRST_NS <= batch.start_ns <= batch.time_ns:
        raise PayloadError(f"start {batch.start_ns} ns is not before the time {batch.time_ns} ns")
    if isinstance(batch, Scrape):
        _check_scrape(batch)


def _check_scrape(scrape: Scrape) -> None:
    if not scrape.target.instance or len(scrape.target.instance) > MAX_NAME:
        raise PayloadError("a scrape without a usable instance name")
    for found in scrape.increments:
        for histogram in found.histograms:
            _check_histogram(histogram)


def _check_histogram(histogram: HistogramIncrement) -> None:
    if len(histogram.counts) != len(histogram.edges) + 1:
        raise PayloadError(
            f"{histogram.signal}: {len(histogram.counts)} counts for {len(histogram.edges)} edges; expected one more"
        )
    if any(b <= a for a, b in zip(histogram.edges, histogram.edges[1:], strict=False)):
        raise PayloadError(f"{histogram.signal}: edges do not rise")
    if max(histogram.counts) > MAX_COUNT or histogram.count > MAX_COUNT:
        raise PayloadError(f"{histogram.signal}: a count beyond {MAX_COUNT}")

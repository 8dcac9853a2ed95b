"""Reads small hand-written or recorded pages through a dialect, for tests that look at single signals."""

from __future__ import annotations

from signals.dialects import registry
from signals.dialects.reader import PageReader
from signals.pages import PageParser
from signals.readings import Increments, PageReading, advance

Value = dict[str, float | None]


def read(engine: str, text: str, model: str | None = None) -> PageReading:
    """Return one page in canonical words."""
    return PageReader(registry.get(engine), model).read(PageParser().parse(text))


def gauges(reading: PageReading, group: int = 0) -> Value:
    """Return the gauges of one group as `signal` or `signal{a=b}`."""
    return {_name(name, attributes): value for (name, attributes), value in reading.readings[group].gauges.items()}


def totals(reading: PageReading, group: int = 0) -> dict[str, float]:
    """Return the cumulative counters of one group, histogram counts as `signal#`."""
    found = reading.readings[group]
    shown: dict[str, float] = {}
    for counter in found.shape.counters:
        name = _name(counter.signal, counter.attributes)
        shown[name] = shown.get(name, 0.0) + sum(found.values[place] for place in counter.places) * counter.scale
    for histogram in found.shape.histograms:
        name = _name(histogram.signal, histogram.attributes)
        shown[f"{name}#"] = sum(found.values[place] for place in histogram.counts)
    return shown


def between(engine: str, first: str, second: str, model: str | None = None) -> Increments:
    """Return what happened between two pages of one target."""
    reader = PageReader(registry.get(engine), model)
    parser = PageParser()
    state, _ = advance(None, reader.read(parser.parse(first)))
    _, found = advance(state, reader.read(parser.parse(second)))
    return found[0]


def _name(signal: str, attributes: tuple[tuple[str, str], ...]) -> str:
    inner = ",".join(f"{name}={value}" for name, value in attributes)
    return f"{signal}{{{inner}}}" if inner else signal

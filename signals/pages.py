"""Turns a Prometheus text page into series and values; knows nothing of engines and never fetches a page.

The cost of a page is parsing its labels, and labels hardly ever change. `PageParser` keys the layout of a page (every
line without its value); on an unchanged layout only the values are read. A line that was never seen before goes
through prometheus_client's parser, which is also the oracle of the tests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import inf

from prometheus_client.parser import text_string_to_metric_families

from signals.errors import PageError

_HISTOGRAM_SUFFIXES = ("_bucket", "_sum", "_count")


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """One series of a page: `key` is its text without the value, `kind` the family's declared TYPE."""

    key: str
    name: str
    labels: Mapping[str, str]
    kind: str
    family: str
    le: float | None


@dataclass(frozen=True, slots=True)
class LineError:
    """A line that is no sample: 1-based line number, the text (cut to 120 characters) and why."""

    line: int
    series: str
    why: str


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """The shape of a page: its lines without values, and what each sample line means."""

    keys: tuple[str, ...]
    sample_lines: tuple[int, ...]
    cuts: tuple[int, ...]
    series: tuple[Series, ...]
    errors: tuple[LineError, ...]
    cacheable: bool


@dataclass(frozen=True, slots=True, eq=False)
class Page:
    """One parsed page: `values[i]` belongs to `layout.series[i]`."""

    layout: Layout
    values: list[float]

    def samples(self) -> Iterator[tuple[Series, float]]:
        return zip(self.layout.series, self.values, strict=True)


@dataclass(slots=True)
class PageParser:
    """Parses pages of one target; remembers its latest layouts and every line it has seen.

    `max_series` bounds a page, `max_bytes` its decoded size; beyond either a PageError names the limit.
    """

    max_bytes: int = 10_000_000
    max_series: int = 20_000
    _layouts: list[Layout] = field(default_factory=list)
    _known: dict[tuple[str, str], Series] = field(default_factory=dict)

    def parse(self, text: str) -> Page:
        """Return the page's samples. Raise PageError when `text` is no metrics page at all."""
        if len(text) > self.max_bytes:
            raise PageError(f"page of {len(text)} characters is over the limit of {self.max_bytes}")
        lines = text.split("\n")
        keys = [line if line[:1] == "#" else line[: line.rfind(" ")] for line in lines]
        for layout in self._layouts:
            if len(layout.keys) == len(keys) and layout.keys == tuple(keys):
                try:
                    values = [float(lines[i][cut:]) for i, cut in zip(layout.sample_lines, layout.cuts, strict=True)]
                except ValueError:
                    break
                return Page(layout, values)
        return self._learn(lines, tuple(keys))

    def _learn(self, lines: list[str], keys: tuple[str, ...]) -> Page:
        kinds = _declared_kinds(lines)
        where: list[int] = []
        series: list[Series] = []
        values: list[float] = []
        errors: list[LineError] = []
        plain = True
        for number, line in enumerate(lines):
            if not line or line.isspace() or line.lstrip()[:1] == "#":
                continue
            found, value, simple = self._sample(line, keys[number], kinds)
            if found is None:
                errors.append(LineError(number + 1, line[:120], "not a sample: expected NAME{LABELS} VALUE"))
                plain = False
                continue
            plain = plain and simple
            where.append(number)
            series.append(found)
            values.append(value)
        self._guard(len(series), lines, errors)
        cuts = tuple(len(keys[number]) + 1 for number in where)
        layout = Layout(keys, tuple(where), cuts, tuple(series), tuple(errors), plain)
        if plain:
            self._layouts = [layout, *self._layouts[:3]]
        if len(self._known) > 4 * self.max_series:
            self._known.clear()
        return Page(layout, values)

    def _sample(self, line: str, key: str, kinds: Mapping[str, str]) -> tuple[Series | None, float, bool]:
        """Return (series or None, value, whether the value is simply what follows the key)."""
        try:
            value = float(line[len(key) + 1 :])
        except ValueError:
            value = inf
        family, kind = _family_of(key.partition("{")[0], kinds)
        known = self._known.get((key, kind))
        if known is not None and value != inf:
            return known, value, True
        try:
            samples = [sample for parsed in text_string_to_metric_families(line) for sample in parsed.samples]
        except (ValueError, IndexError, KeyError, TypeError):
            return None, 0.0, False
        if len(samples) != 1:
            return None, 0.0, False
        sample = samples[0]
        family, kind = _family_of(sample.name, kinds)
        le = _edge(sample.labels.get("le"))
        found = Series(key, sample.name, dict(sample.labels), kind, family, le)
        simple = sample.timestamp is None and (sample.value == value or (sample.value != sample.value)) and bool(key)
        if simple and key.partition("{")[0].strip() == sample.name:
            self._known[(key, kind)] = found
        return found, sample.value, simple

    def _guard(self, count: int, lines: list[str], errors: list[LineError]) -> None:
        if count > self.max_series:
            raise PageError(f"page of {count} series is over the limit of {self.max_series}")
        if count == 0 and (errors or not any(line[:1] == "#" for line in lines)):
            start = next((line for line in lines if line.strip()), "")[:60]
            raise PageError(f"not a metrics page: no sample in {len(lines)} lines; it begins with {start!r}")


def _declared_kinds(lines: list[str]) -> dict[str, str]:
    kinds = {}
    for line in lines:
        if line[:7] == "# TYPE ":
            words = line.split()
            if len(words) >= 4:
                kinds[words[2]] = words[3]
    return kinds


def _family_of(name: str, kinds: Mapping[str, str]) -> tuple[str, str]:
    """Return (family name as declared, kind); a histogram's parts belong to its family."""
    for suffix in _HISTOGRAM_SUFFIXES:
        if name.endswith(suffix):
            base = name[: -len(suffix)]
            if kinds.get(base) in {"histogram", "summary"}:
                return base, kinds[base]
    kind = kinds.get(name)
    if kind is None and name.endswith("_total"):
        kind = kinds.get(name.removesuffix("_total"))
    return name, kind or "untyped"


def _edge(text: str | None) -> float | None:
    """Return `le` as a number: engines write 1, 1.0 and 1e0 for the same edge."""
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        return None

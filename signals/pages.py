"""Turns a Prometheus text page into series and values; knows nothing of engines and never fetches a page.

The cost of a page is parsing its labels, and labels hardly ever change. `PageParser` keys the layout of a page (every
line without its value); on an unchanged layout only the values are read. A changed layout is learnt from the lines
that are known, a plain new line by one regular expression, and anything else by prometheus_client's parser, which is
also the oracle of the tests. Values are 64-bit floats. Layouts and text are shared between the targets of a process.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from math import inf
from operator import getitem, itemgetter
from sys import intern
from weakref import WeakValueDictionary

from prometheus_client.parser import text_string_to_metric_families

from signals.errors import PageError

_HISTOGRAM_SUFFIXES = ("_bucket", "_sum", "_count")
#: `end` of a line that holds no sample: it is compared whole.
_WHOLE = 1 << 30
_LABEL = r'(?!__)[a-zA-Z_][a-zA-Z0-9_]*="[^"\\]*"'
#: A sample as nearly every exporter writes it: no escapes, one space, perhaps a timestamp.
_PLAIN = re.compile(
    rf"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{{((?:{_LABEL}(?:, ?{_LABEL})*)?)\}})? ([^\s_]+)(?: (-?[0-9]+))?", re.ASCII
)
_LABELS = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="([^"]*)"', re.ASCII)


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


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Layout:
    """The shape of a page: its lines without values, and what each sample line means.

    `keys[i]` is line i up to and with the space before its value (a comment: the whole line), `heads[i]` cuts that off;
    `tails[k]` cuts off the value of sample k, which stands on line `sample_lines[k]`; `pick` takes those lines.
    """

    keys: tuple[str, ...]
    heads: tuple[slice, ...]
    sample_lines: tuple[int, ...]
    tails: tuple[slice, ...]
    pick: Callable[[list[str]], tuple[str, ...]]
    series: tuple[Series, ...]
    errors: tuple[LineError, ...]
    kinds: Mapping[str, str]
    cacheable: bool


@dataclass(frozen=True, slots=True, eq=False)
class Page:
    """One parsed page: `values[i]` belongs to `layout.series[i]`."""

    layout: Layout
    values: list[float]

    def samples(self) -> Iterator[tuple[Series, float]]:
        return zip(self.layout.series, self.values, strict=True)


_CUT: Callable[[str, slice], str] = getitem
#: Layouts that some parser holds, so that targets with the same page share them and all that hangs on them.
_SHARED: WeakValueDictionary[tuple[str, ...], Layout] = WeakValueDictionary()


@dataclass(slots=True)
class PageParser:
    """Parses pages of one target; remembers its latest layouts.

    `max_series` bounds a page, `max_bytes` its decoded size; beyond either a PageError names the limit.
    """

    max_bytes: int = 10_000_000
    max_series: int = 20_000
    _layouts: list[Layout] = field(default_factory=list)

    def parse(self, text: str) -> Page:
        """Return the page's samples. Raise PageError when `text` is no metrics page at all."""
        if len(text) > self.max_bytes:
            raise PageError(f"page of {len(text)} characters is over the limit of {self.max_bytes}")
        lines = _lines(text)
        for layout in self._layouts:
            if len(layout.keys) == len(lines) and tuple(map(_CUT, lines, layout.heads)) == layout.keys:
                texts = list(map(_CUT, layout.pick(lines), layout.tails))
                try:
                    values = list(map(float, texts))
                except ValueError:
                    break
                if "_" in "".join(texts):  # float() takes 1_000, the format does not
                    break
                return Page(layout, values)
        return self._learn(lines)

    def _learn(self, lines: list[str]) -> Page:
        kinds = _declared_kinds(lines)
        known = self._remembered(kinds)
        keys: list[str] = []
        ends: list[int] = []
        where: list[int] = []
        series: list[Series] = []
        values: list[float] = []
        errors: list[LineError] = []
        plain = True
        for number, line in enumerate(lines):
            cut = line.rfind(" ") + 1
            key = line[:cut]
            keys.append(key)
            ends.append(cut)
            sample = known.get(key)
            if sample is not None and (value := _number(line[cut:])) is not None:
                keys[-1] = intern(key)
                where.append(number)
                series.append(sample)
                values.append(value)
                continue
            if line[:1] == "#" or not line or line.isspace() or line.lstrip()[:1] == "#":
                keys[-1], ends[-1] = intern(line), _WHOLE
                continue
            found = _sample(line, kinds)
            if found is None:
                errors.append(LineError(number + 1, line[:120], "not a sample: expected NAME{LABELS} VALUE"))
                keys[-1], ends[-1] = line, _WHOLE
                plain = False
                continue
            sample, value, simple = found
            plain = plain and simple
            keys[-1] = intern(key)
            where.append(number)
            series.append(sample)
            values.append(value)
        if lines[-1] and where and where[-1] == len(lines) - 1:
            why = "the page ends in the middle of this line: no newline follows it"
            errors.append(LineError(len(lines), lines[-1][:120], why))
            plain = False
            for column in (where, series, values):
                column.pop()
        elif lines[-1][:1] == "#" and lines[-1].rstrip() != "# EOF":
            errors.append(
                LineError(len(lines), lines[-1][:120], "the page ends in this comment: no newline follows it")
            )
            plain = False
        self._guard(len(series), lines, errors)
        layout = Layout(
            tuple(keys),
            tuple([_head(end) for end in ends]),
            tuple(where),
            tuple([_tail(ends[number]) for number in where]),
            _picker(where),
            tuple(series),
            tuple(errors),
            kinds,
            plain,
        )
        if plain:
            layout = _SHARED.setdefault(layout.keys, layout)
            self._layouts = [layout, *self._layouts[:3]]
        return Page(layout, values)

    def _remembered(self, kinds: Mapping[str, str]) -> dict[str, Series]:
        """Return the series of the lines known to this parser or, at its first page, to any that declares the same."""
        layouts = self._layouts or [layout for layout in list(_SHARED.values())[-1:] if layout.kinds == kinds]
        known: dict[str, Series] = {}
        for layout in reversed(layouts):
            if layout.kinds == kinds:
                known.update(zip([layout.keys[i] for i in layout.sample_lines], layout.series, strict=True))
        return known

    def _guard(self, count: int, lines: list[str], errors: list[LineError]) -> None:
        if count > self.max_series:
            raise PageError(f"page of {count} series is over the limit of {self.max_series}")
        start = next((line.strip() for line in lines if line.strip()), "")[:60]
        if not start:
            raise PageError("not a metrics page: it is empty")
        if start[0] == "<":
            raise PageError(f"not a metrics page: it is HTML or XML and begins with {start!r}")
        if count == 0 and (errors or not any(line[:1] == "#" for line in lines)):
            what = "it is JSON" if start[0] in "[{" else f"no sample in {len(lines)} lines"
            raise PageError(f"not a metrics page: {what}; it begins with {start!r}")


@lru_cache(maxsize=4096)
def _head(end: int) -> slice:
    return slice(None, end)


@lru_cache(maxsize=4096)
def _tail(start: int) -> slice:
    return slice(start, None)


def _picker(where: list[int]) -> Callable[[list[str]], tuple[str, ...]]:
    """Return what takes the lines at these places; always a tuple, also of one or none."""
    if len(where) > 1:
        return itemgetter(*where)
    return lambda lines: tuple(lines[number] for number in where)


def _lines(text: str) -> list[str]:
    """Return the lines of a page; a server once sent its page as one JSON string."""
    if text[:1] == '"':
        try:
            found = json.loads(text)
        except ValueError:
            found = None
        if isinstance(found, str):
            text = found
    return text.split("\n")


def _number(text: str) -> float | None:
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def _sample(line: str, kinds: Mapping[str, str]) -> tuple[Series, float, bool] | None:
    """Return (series, value, whether the line is a key, one space and the value), or None when it is no sample."""
    match = _PLAIN.fullmatch(line)
    if match is not None and (value := _number(match[3])) is not None:
        pairs = _LABELS.findall(match[2]) if match[2] else []
        labels = {intern(name): intern(text) for name, text in pairs}
        if len(labels) == len(pairs):
            key = line[: match.start(3) - 1]
            return _series(key, match[1], labels, kinds), value, match[4] is None
    try:
        samples = [sample for parsed in text_string_to_metric_families(line) for sample in parsed.samples]
    except (ValueError, IndexError, KeyError, TypeError):
        return None
    if len(samples) != 1:
        return None
    sample = samples[0]
    key, _, text = line.rpartition(" ")
    shown = _number(text)
    simple = bool(key) and sample.timestamp is None and shown is not None and _same(shown, sample.value)
    try:
        value = float(sample.value)
    except OverflowError:
        value = inf
    return _series(key if simple else line, sample.name, dict(sample.labels), kinds), value, simple


def _same(one: float, other: float) -> bool:
    return one == other or (one != one and other != other)


def _series(key: str, name: str, labels: Mapping[str, str], kinds: Mapping[str, str]) -> Series:
    family, kind = _family_of(name, kinds)
    return Series(intern(key), intern(name), labels, kind, family, _edge(labels.get("le")))


def _declared_kinds(lines: list[str]) -> dict[str, str]:
    kinds = {}
    for line in lines:
        if line[:7] == "# TYPE ":
            words = line.split()
            if len(words) >= 4:
                kinds[intern(words[2])] = intern(words[3])
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

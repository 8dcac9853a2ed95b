"""Turns scrapes that came as column arrays into Arrow tables of the store; the rows are `rows.add_scrape`'s."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from collector.store.batch import ColumnBatch, ColumnGroup, Key, Source
from collector.store.rows import ARROW_TYPES, BY_POSITION
from signals.catalog import SAMPLE_COLUMNS
from signals.readings import Increments
from signals.records import Identity, Scrape
from signals.views.engines import ENGINE_SAMPLES

Numbers = npt.NDArray[np.float64]
Wholes = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
EdgeNumber = Callable[[tuple[float, ...]], int]

_SAMPLE = frozenset(SAMPLE_COLUMNS)
_TEXT_OF_SOURCE: dict[str, Callable[[Source], str | None]] = {
    "instance": lambda source: source.target.instance,
    "engine": lambda source: source.target.engine,
    "engine_version": lambda source: source.target.engine_version,
    "model_version": lambda source: source.target.model_version,
    "pool": lambda source: source.target.pool,
    "region": lambda source: source.target.region,
    "scrape_state": lambda source: source.state,
}
_SAMPLE_TYPES = {column.name: ARROW_TYPES[column.type] for column in ENGINE_SAMPLES.columns}
#: Sources remembered as seen; beyond it all are shown again, which changes nothing.
MAX_SEEN = 50_000
_TS = pa.timestamp("us", "UTC")


def merged(batches: Sequence[ColumnBatch]) -> list[ColumnBatch]:
    """Return one batch per layout: arrays of many requests become long ones."""
    by_layout: dict[int, list[ColumnBatch]] = {}
    for batch in batches:
        by_layout.setdefault(id(batch.groups), []).append(batch)
    return [
        found[0]
        if len(found) == 1
        else ColumnBatch(
            tuple(source for batch in found for source in batch.sources),
            np.concatenate([batch.sequences for batch in found]),
            np.concatenate([batch.time_ns for batch in found]),
            np.concatenate([batch.start_ns for batch in found]),
            found[0].groups,
            np.concatenate([batch.numbers for batch in found]),
            np.concatenate([batch.counts for batch in found]),
        )
        for found in by_layout.values()
    ]


def sightings(batch: ColumnBatch) -> list[tuple[str, str, int, int]]:
    """Return (instance, model, first time, last time) of every pair in a batch, in nanoseconds."""
    found: dict[str, tuple[int, int]] = {}
    for source, time_ns in zip(batch.sources, batch.time_ns.tolist(), strict=True):
        low, high = found.get(source.target.instance, (time_ns, time_ns))
        found[source.target.instance] = (min(low, time_ns), max(high, time_ns))
    models = [group.model for group in batch.groups if group.model is not None]
    return [(instance, model, low, high) for instance, (low, high) in found.items() for model in models]


class KnownLives:
    """Which sources with which groups have been shown to `Lives` already: they begin no life again."""

    def __init__(self) -> None:
        self._seen: dict[tuple[int, int], tuple[Source, object]] = {}

    def fresh(self, batch: ColumnBatch) -> list[Scrape]:
        """Return one scrape, without values, for each source that is new with these groups."""
        found = []
        for row, source in enumerate(batch.sources):
            key = (id(source), id(batch.groups))
            if key in self._seen:
                continue
            if len(self._seen) > MAX_SEEN:
                self._seen.clear()
            self._seen[key] = (source, batch.groups)  # held, so that the ids stay theirs
            identity = Identity(source.agent, source.epoch, int(batch.sequences[row]))
            groups = tuple(Increments(group.model, group.role, {}, {}, ()) for group in batch.groups)
            time_ns = int(batch.time_ns[row])
            found.append(
                Scrape(
                    identity, source.target, time_ns, None, source.state, groups, (), source.facts, source.process_start
                )
            )
        return found

    def clear(self) -> None:
        self._seen.clear()


def column_tables(batches: Sequence[ColumnBatch], edge_number: EdgeNumber) -> dict[str, pa.Table]:
    """Return the rows of engine_samples, signal_samples and engine_histograms; tables without rows are left out."""
    parts: dict[str, list[pa.Table]] = {"engine_samples": [], "signal_samples": [], "engine_histograms": []}
    for batch in merged(batches):
        rows = _Rows(batch)
        for group in batch.groups:
            parts["engine_samples"].append(rows.samples(group))
            parts["signal_samples"].append(rows.signals(group))
            parts["engine_histograms"].append(rows.histograms(group, edge_number))
    tables = {name: pa.concat_tables(found).unify_dictionaries() for name, found in parts.items()}
    return {name: table for name, table in tables.items() if table.num_rows}


class _Rows:
    """The rows of one batch; what all its groups share is computed once."""

    def __init__(self, batch: ColumnBatch) -> None:
        self._numbers = batch.numbers
        self._counts = batch.counts
        self._finite = np.isfinite(batch.numbers)
        self._whole_columns: npt.NDArray[np.bool_] = np.logical_and.reduce(self._finite, axis=0)
        self._ts = batch.time_ns // 1000
        self._interval = np.where(batch.start_ns == 0, np.nan, (batch.time_ns - batch.start_ns) / 1e9)
        self._size = len(batch)
        places: dict[int, int] = {}
        distinct: list[Source] = []
        codes = np.empty(self._size, dtype=np.int32)
        for row, source in enumerate(batch.sources):
            place = places.get(id(source))
            if place is None:
                place = places[id(source)] = len(distinct)
                distinct.append(source)
            codes[row] = place
        self._text = {name: _recoded(codes, [of(s) for s in distinct]) for name, of in _TEXT_OF_SOURCE.items()}

    def samples(self, group: ColumnGroup) -> pa.Table:
        """Return one row of engine_samples per scrape."""
        columns: dict[str, pa.Array] = {
            "ts": pa.array(self._ts).cast(_TS),
            "interval_seconds": pa.array(self._interval, from_pandas=True),
            "model": _constant(group.model, self._size),
            "role": _constant(group.role, self._size),
        }
        columns.update({name: _dictionary(*coded) for name, coded in self._text.items()})
        positions: dict[int, int] = {}
        for (signal, attributes), at in _entries(group):
            if signal == BY_POSITION:
                positions[int(dict(attributes).get("position", 0))] = at
            elif signal in _SAMPLE and not attributes:
                columns[signal] = self._column(at)
        if positions:
            columns[BY_POSITION] = self._by_position(positions)
        nulls = {name: pa.nulls(self._size, kind) for name, kind in _SAMPLE_TYPES.items() if name not in columns}
        columns.update(nulls)
        return pa.table({name: columns[name] for name in _SAMPLE_TYPES})

    def signals(self, group: ColumnGroup) -> pa.Table:
        """Return the rows of signal_samples: every signal without a column, and tenants' share of histograms."""
        keys: list[Key] = []
        values: list[Numbers] = []
        kept: list[npt.NDArray[np.bool_]] = []
        gauges = len(group.gauges)
        for place, (key, at) in enumerate(_entries(group)):
            if key[0] != BY_POSITION and not (key[0] in _SAMPLE and not key[1]):
                column, finite = self._numbers[:, at], self._finite[:, at]
                keys.append(key)
                values.append(column)
                kept.append(finite if place < gauges else finite & (column != 0))
        for (signal, attributes, _), sum_at, count_at in zip(
            group.histograms, group.sum_at, group.count_at, strict=True
        ):
            if attributes:
                counts = self._counts[:, count_at]
                keys += [(f"{signal}_count", attributes), (f"{signal}_sum", attributes)]
                values += [counts.astype(np.float64), self._numbers[:, sum_at]]
                filled = np.greater(counts, 0)
                kept += [filled, filled]
        if not keys:
            return _signal_table([], group.model, np.empty(0, np.int32), np.empty(0, np.int64), _NOBODY, np.empty(0))
        mask = np.concatenate(kept)
        codes = np.repeat(np.arange(len(keys), dtype=np.int32), self._size)[mask]
        rows = np.tile(np.arange(self._size, dtype=np.int32), len(keys))[mask]
        instance, names = self._text["instance"]
        return _signal_table(
            keys, group.model, codes, self._ts[rows], (instance[rows], names), np.concatenate(values)[mask]
        )

    def histograms(self, group: ColumnGroup, edge_number: EdgeNumber) -> pa.Table:
        """Return the non-empty histograms, merged over tenants."""
        members: dict[tuple[str | None, str, tuple[float, ...]], list[int]] = {}
        for (signal, attributes, edges), at in zip(group.histograms, group.count_at, strict=True):
            model = dict(attributes).get("model", group.model)
            members.setdefault((model, signal, edges), []).append(at)
        rows: list[Wholes] = []
        values: list[Wholes] = []
        widths: list[Wholes] = []
        codes: list[Codes] = []
        for code, ((_, _, edges), places) in enumerate(members.items()):
            width = len(edges) + 1
            filled: list[npt.NDArray[np.bool_]] = [np.greater(self._counts[:, at], 0) for at in places]
            picked = np.flatnonzero(filled[0] if len(filled) == 1 else np.any(filled, axis=0))
            if not len(picked):
                continue
            total = np.zeros((len(picked), width), dtype=np.int64)
            for at, full in zip(places, filled, strict=True):
                total += np.where(full[picked, None], self._counts[picked, at + 1 : at + 1 + width], 0)
            rows.append(picked)
            values.append(total.ravel())
            widths.append(np.full(len(picked), width, dtype=np.int64))
            codes.append(np.full(len(picked), code, dtype=np.int32))
        names = list(members)
        picked_rows = np.concatenate(rows) if rows else np.empty(0, np.int64)
        picked_codes = np.concatenate(codes) if codes else np.empty(0, np.int32)
        offsets = np.concatenate([[0], *widths]).cumsum().astype(np.int32)
        instance, instances = self._text["instance"]
        return pa.table(
            {
                "ts": pa.array(self._ts[picked_rows]).cast(_TS),
                "interval_seconds": pa.array(self._interval[picked_rows], from_pandas=True),
                "instance": _dictionary(instance[picked_rows], instances),
                "model": _dictionary(*_recoded(picked_codes, [model for model, _, _ in names])),
                "metric": _dictionary(*_recoded(picked_codes, [metric for _, metric, _ in names])),
                "edge_set": pa.array(np.array([edge_number(edges) for *_, edges in names], np.int32)[picked_codes]),
                "counts": pa.ListArray.from_arrays(
                    pa.array(offsets), pa.array(np.concatenate(values) if values else np.empty(0, np.int64))
                ),
            }
        )

    def _column(self, at: int) -> pa.Array:
        column = self._numbers[:, at]
        if self._whole_columns[at]:
            return pa.array(column)
        return pa.array(np.where(self._finite[:, at], column, np.nan), from_pandas=True)

    def _by_position(self, positions: dict[int, int]) -> pa.Array:
        width = max(positions) + 1
        values = np.zeros((self._size, width), dtype=np.int64)
        for position, at in positions.items():
            values[:, position] = np.rint(np.where(self._finite[:, at], self._numbers[:, at], 0.0)).astype(np.int64)
        offsets = np.arange(self._size + 1, dtype=np.int32) * width
        return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values.ravel()))


def _entries(group: ColumnGroup) -> list[tuple[Key, int]]:
    return [*zip(group.gauges, group.gauge_at, strict=True), *zip(group.counters, group.counter_at, strict=True)]


def _signal_table(
    keys: list[Key], model: str | None, codes: Codes, ts: Wholes, instance: tuple[Codes, list[str]], values: Numbers
) -> pa.Table:
    have = [dict(attributes) for _, attributes in keys]
    tenants = [one.pop("tenant", None) or one.get("tenant_id") for one in have]
    models = [one.pop("model", model) for one in have]
    lengths = [one.pop("length_bucket", None) for one in have]
    maps = pa.array([list(one.items()) or None for one in have], type=ARROW_TYPES["MAP(VARCHAR,VARCHAR)"])
    return pa.table(
        {
            "ts": pa.array(ts).cast(_TS),
            "instance": _dictionary(*instance),
            "model": _dictionary(*_recoded(codes, models)),
            "tenant": _dictionary(*_recoded(codes, tenants)),
            "length_bucket": _dictionary(*_recoded(codes, lengths)),
            "signal": _dictionary(*_recoded(codes, [signal for signal, _ in keys])),
            "attributes": maps.take(pa.array(codes)),
            "value": pa.array(values),
        }
    )


_NOBODY: tuple[Codes, list[str]] = (np.empty(0, np.int32), [])


def _recoded(codes: Codes, words: Sequence[str | None]) -> tuple[Codes, list[str]]:
    """Return codes into the distinct words; -1 stands for None."""
    distinct = list(dict.fromkeys(word for word in words if word is not None))
    place = {word: number for number, word in enumerate(distinct)}
    table = np.array([-1 if word is None else place[word] for word in words], dtype=np.int32)
    return (table[codes] if len(table) else codes), distinct


def _dictionary(codes: Codes, words: Sequence[str]) -> pa.Array:
    missing = codes < 0
    indices = pa.array(codes, mask=missing) if missing.any() else pa.array(codes)
    return pa.DictionaryArray.from_arrays(indices, pa.array(words, type=pa.string()))


def _constant(word: str | None, size: int) -> pa.Array:
    code = -1 if word is None else 0
    return _dictionary(np.full(size, code, dtype=np.int32), [] if word is None else [word])

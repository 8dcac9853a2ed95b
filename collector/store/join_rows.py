"""Builds the rows of `requests` from two sides and their pairs: joined, gateway only, engine only; to a microsecond.

Columns that no row has are left out: they are NULL in the store.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from collector.store.halves import LOG
from collector.store.join_pairs import Pairs
from collector.store.join_sides import Side
from collector.store.sampled import Sampled
from signals.lengths import EDGES_TOKENS, LENGTH_BUCKETS

Real: TypeAlias = npt.NDArray[np.float64]
Whole: TypeAlias = npt.NDArray[np.int64]
Column: TypeAlias = pa.Array | pa.ChunkedArray | None
#: What an instance is, as far as its scrapes say.
ABOUT = ("pool", "role", "engine", "region", "model_version")


@dataclass(frozen=True, slots=True, eq=False)
class Requests:
    """Rows of `stored.requests` and, beside them, what the clocks of the two sides say."""

    table: pa.Table
    #: Rows (instance, gateway_key, both starts in ns) whose engine began before the gateway or after its end.
    clock_faults: pa.Table


@dataclass(frozen=True, slots=True, eq=False)
class _View:
    """One side, looked at from the rows of the result."""

    table: pa.Table
    places: npt.NDArray[np.intp]
    #: None where row i of the result is row i of the side.
    taken: pa.Array | None

    @classmethod
    def of(cls, side: Side, places: npt.NDArray[np.intp]) -> _View:
        same = len(places) == len(side) and bool((places == np.arange(len(side))).all())
        return cls(side.table, places, None if same else pa.array(places, mask=places < 0))

    def __getitem__(self, name: str) -> Column:
        if name not in self.table.column_names:
            return None
        column = self.table[name]
        column = column if self.taken is None else column.take(self.taken)
        return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column

    def real(self, name: str) -> Real:
        """Return a column of seconds, NaN where it is missing."""
        column = self[name]
        if column is None:
            return np.full(len(self.places), np.nan)
        found: Real = column.to_numpy(zero_copy_only=False).astype(np.float64, copy=False)
        return found


def request_rows(
    gateways: Side,
    engines: Side,
    pairs: Pairs,
    sampled: Sampled,
    tenant_from: str,
    about: Mapping[str, tuple[str | None, ...]],
) -> Requests:
    """Return the requests of all pairs; `about` has for each instance what ABOUT names."""
    pairs = _requests_only(gateways, pairs)
    g, e = _View.of(gateways, pairs.gateway), _View.of(engines, pairs.engine)
    rows = len(pairs.gateway)
    has_g, has_e = pairs.gateway >= 0, pairs.engine >= 0
    times = _Times.of(gateways, engines, g, e)
    instance = _first(e["instance"], g["instance"])  # a gateway that chooses the worker may be all that names it
    named = _Named.of(instance)
    model = _model(g, e, named, sampled, times.start_ns, has_e)
    input_tokens, output_tokens = _first(e["input_tokens"], g["input_tokens"]), _first(
        e["output_tokens"], g["output_tokens"]
    )  # fmt: skip
    of_instance = {name: named.column(about, place) for place, name in enumerate(ABOUT)}
    columns: dict[str, Column] = {
        "gateway_key": pa.array(gateways.key[pairs.gateway], mask=~has_g) if len(gateways) else None,
        # a request with a gateway is found by its key
        "engine_part": None if has_g.all() else pa.array(engines.key[pairs.engine], mask=has_g),
        "ts": pa.array(times.start_ns // 1000).cast(pa.timestamp("us", "UTC")),
        "request_id": _first(g["request_id"], e["match"], e["request_id"], g["match"], g["name"], e["name"]),
        "trace_id": _first(g["trace_id"], e["trace_id"]),
        "model": model,
        "requested_model": _first(g["requested_model"], e["requested_model"]),
        "model_version": _first(e["model_version"], of_instance["model_version"]),
        "tenant": _first(
            *([g["tenant_id"]] if tenant_from == "team_id" else [g["tenant"], g["tenant_id"]]),
            g["tenant"],
            e["tenant"],
        ),
        "domain": _first(g["domain"], e["domain"]),
        "class": _first(g["request_class"], e["request_class"]),
        "region": _first(e["region"], of_instance["region"], g["region"]),
        "pool": of_instance["pool"],
        "instance": instance,
        "prefill_instance": _first(e["prefill_instance"], g["prefill_instance"]),
        "role": of_instance["role"],
        "engine": _first(e["engine"], of_instance["engine"]),
        "adapter": _first(e["adapter"], _adapter(g["model"], model, has_e)),
        "attempts": _attempts(g["attempts"], pairs.tries, has_g),
        "input_tokens": input_tokens,
        "cached_tokens": _first(e["cached_tokens"], g["cached_tokens"]),
        "output_tokens": output_tokens,
        "length_bucket": _bucket(input_tokens),
        "queue_seconds": _micros(e["queue_seconds"]),
        "prefill_seconds": _micros(e["prefill_seconds"]),
        "transfer_seconds": _micros(e["transfer_seconds"]),
        "decode_seconds": _micros(e["decode_seconds"]),
        "gateway_seconds": _seconds(times.gateway_seconds),
        "ttft_seconds": _seconds(times.ttft_seconds),
        "e2e_seconds": _seconds(times.e2e_seconds),
        "engine_ttft_seconds": _micros(e["ttft_seconds"]),
        "engine_e2e_seconds": _micros(e["e2e_seconds"]),
        "status": _first(g["status"], e["status"], pa.array(["ok"]).take(pa.array(np.zeros(rows, np.int8)))),
        "finish_reason": _first(e["finish_reason"], g["finish_reason"]),
        "structured": e["structured"],
        "temperature": _first(e["temperature"], g["temperature"]),
        "spec_draft_tokens": e["spec_draft_tokens"],
        "spec_accepted_tokens": e["spec_accepted_tokens"],
        "session": _first(g["session"], e["session"]),
        "turn": _first(g["turn"], e["turn"]),
        "prefix_hashes": e["prefix_hashes"],
        "source": _source(e["side"], has_g, has_e),
        "gateway_input_tokens": g["input_tokens"],
        "gateway_output_tokens": g["output_tokens"],
    }
    table = pa.table({name: column for name, column in columns.items() if column is not None})
    return Requests(table, times.faults(instance, columns["gateway_key"]))


def _requests_only(gateways: Side, pairs: Pairs) -> Pairs:
    """Leave out gateway requests that name neither model nor tenant nor answer, unless they failed: no requests."""
    table = gateways.table
    told = np.zeros(len(gateways), bool)
    for name in ("model", "tenant", "tenant_id", "match"):
        if name in table.column_names:
            told |= table[name].is_valid().to_numpy()
    if not told.all() and "status" in table.column_names:
        fine = pc.is_in(table["status"], pa.array(["ok", "aborted", None], pa.string()))
        told |= ~fine.to_numpy()
    shown = pairs.engine >= 0
    shown[: len(gateways)] |= told
    if shown.all():
        return pairs
    return Pairs(pairs.gateway[shown], pairs.engine[shown], pairs.tries[shown])


@dataclass(frozen=True, slots=True, eq=False)
class _Times:
    """Seconds of each row as the user saw them, and the two clocks in nanoseconds."""

    start_ns: Whole
    ttft_seconds: Real
    e2e_seconds: Real
    gateway_seconds: Real
    fault: npt.NDArray[np.bool_]
    gateway_start: Whole
    engine_start: Whole

    @classmethod
    def of(cls, gateways: Side, engines: Side, g: _View, e: _View) -> _Times:
        has_g, has_e = g.places >= 0, e.places >= 0
        g_start = gateways.start_ns[g.places] if len(gateways) else np.zeros(len(g.places), np.int64)
        e_start = engines.start_ns[e.places] if len(engines) else np.zeros(len(e.places), np.int64)
        both = has_g & has_e
        g_end = _whole(g["end_ns"], g_start)  # without an end nothing is known to be after it
        ends = g_end > g_start
        agree = both & (e_start >= g_start) & ~(ends & (e_start > g_end))
        fault = both & ((e_start < g_start - 1_000_000_000) | (ends & (e_start > g_end + 1_000_000_000)))
        engine_ttft = e.real("ttft_seconds")
        told = g["first_token_ns"]
        ttft = np.where(agree, (e_start - g_start) / 1e9 + engine_ttft, engine_ttft)
        if told is not None:
            ttft = np.where(
                told.is_valid().to_numpy(zero_copy_only=False), (_whole(told, g_start) - g_start) / 1e9, ttft
            )
        ttft = _rounded(ttft)
        e2e, engine_e2e = g.real("e2e_seconds"), e.real("e2e_seconds")
        return cls(
            np.where(has_g, g_start, e_start),
            ttft,
            _rounded(np.where(np.isnan(e2e), engine_e2e, e2e)),
            np.where(agree, _rounded(np.maximum(0.0, ttft - engine_ttft)), np.nan),
            fault,
            g_start,
            e_start,
        )

    def faults(self, instance: Column, key: Column) -> pa.Table:
        rows = np.flatnonzero(self.fault)
        named = pa.nulls(len(rows), pa.string()) if instance is None else instance.take(pa.array(rows))
        return pa.table(
            {
                "instance": named,
                "gateway_key": pa.nulls(len(rows), pa.uint64()) if key is None else key.take(pa.array(rows)),
                "gateway_start": pa.array(self.gateway_start[rows]),
                "engine_start": pa.array(self.engine_start[rows]),
            }
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Named:
    """The distinct instances of the rows, and where each row's is among them."""

    names: tuple[str, ...]
    place: pa.Array | None

    @classmethod
    def of(cls, instance: Column) -> _Named:
        if instance is None:
            return cls((), None)
        coded = instance.dictionary_encode()
        return cls(tuple(coded.dictionary.to_pylist()), coded.indices)

    def take(self, values: list[str | None]) -> Column:
        """Return each row's value, given one for each instance."""
        if self.place is None or all(value is None for value in values):
            return None
        return pa.array(values, pa.string()).take(self.place)

    def column(self, about: Mapping[str, tuple[str | None, ...]], place: int) -> Column:
        unknown = (None,) * len(ABOUT)
        return self.take([about.get(name, unknown)[place] for name in self.names])


def _model(
    g: _View, e: _View, named: _Named, sampled: Sampled, start_ns: Whole, has_e: npt.NDArray[np.bool_]
) -> Column:
    """Return the served model: what the engine says, its instance's only one, the gateway's, the only one sampled."""
    asked = g["model"]
    alone = None if asked is None or has_e.all() else pc.if_else(pa.array(has_e), pa.scalar(None, pa.string()), asked)
    found = _first(e["model"], named.take([sampled.only_model(name) for name in named.names]), alone)
    missing = np.ones(len(start_ns), bool) if found is None else ~found.is_valid().to_numpy(zero_copy_only=False)
    if missing.any():
        found = _first(found, sampled.only_models_at(start_ns, missing), asked)
    return found


def _adapter(asked: Column, model: Column, has_e: npt.NDArray[np.bool_]) -> Column:
    """Return the name that was asked for where the engine's model has another."""
    if asked is None or model is None or not has_e.any():
        return None
    other = pc.and_(pc.not_equal(asked, model), pa.array(has_e))
    return (
        pc.if_else(pc.fill_null(other, False), asked, pa.scalar(None, pa.string())) if pc.any(other).as_py() else None
    )


def _attempts(told: Column, tries: Whole, has_g: npt.NDArray[np.bool_]) -> Column:
    if not has_g.any():
        return None
    counted = np.ones(len(tries), np.int64) if told is None else pc.fill_null(told, 1).to_numpy(zero_copy_only=False)
    return pa.array(np.maximum(counted, tries).astype(np.int32), mask=~has_g)


def _bucket(tokens: Column) -> Column:
    if tokens is None:
        return None
    place = np.searchsorted(EDGES_TOKENS, _whole(tokens, np.zeros(len(tokens), np.int64)), "right").astype(np.int8)
    missing = tokens.is_null().to_numpy(zero_copy_only=False)
    return pa.DictionaryArray.from_arrays(pa.array(place, mask=missing), pa.array(LENGTH_BUCKETS))


def _source(side: Column, has_g: npt.NDArray[np.bool_], has_e: npt.NDArray[np.bool_]) -> Column:
    place = np.where(has_g & has_e, 0, np.where(has_g, 1, 2)).astype(np.int8)
    if side is not None and (place == 2).any():
        place[(place == 2) & pc.fill_null(pc.equal(side, LOG), False).to_numpy(zero_copy_only=False)] = 3
    return pa.DictionaryArray.from_arrays(pa.array(place), pa.array(["joined", "gateway", "engine", "log"]))


def _first(*columns: Column) -> Column:
    """Return the first value of each row that is not missing."""
    found: Column = None
    for column in columns:
        if column is not None:
            found = column if found is None else pc.coalesce(found, column)
            if found.null_count == 0:
                break
    return found


def _whole(column: Column, otherwise: Whole) -> Whole:
    """Return a column of integers, another's value where it is missing."""
    if column is None:
        return otherwise
    if column.null_count == 0:
        found: Whole = column.to_numpy(zero_copy_only=False)
        return found
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    return np.where(valid, pc.fill_null(column, 0).to_numpy(zero_copy_only=False), otherwise)


def _rounded(seconds: Real) -> Real:
    """Return seconds to a microsecond, halves away from zero."""
    return np.copysign(np.floor(np.abs(seconds) * 1e6 + 0.5) / 1e6, seconds)


def _micros(column: Column) -> Column:
    return None if column is None else _seconds(_rounded(column.to_numpy(zero_copy_only=False)))


def _seconds(values: Real) -> Column:
    missing = np.isnan(values)
    if missing.all():
        return None
    return pa.array(values, mask=missing) if missing.any() else pa.array(values)

"""Collects the two sides of a join: one row per gateway request, one per engine request, whatever parts they came in.

A gateway request is all parts of one key and of the keys that its parts claim as aliases; an engine request is a span
with the log lines that tell of it, or either alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from collector.store.halves import BODY_TYPES, ENGINE, LOG, Halves, Sides
from collector.store.keys import Keys, among, text_keys
from collector.store.sqlfiles import sql

PACKAGE = "collector.store"
Mask: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """N requests as one side knows them; `key` names them there, `table` has the columns that hold anything."""

    key: Keys
    match: Keys
    trace: Keys
    start_ns: npt.NDArray[np.int64]
    table: pa.Table

    def __len__(self) -> int:
        return len(self.key)


@dataclass(frozen=True, slots=True, eq=False)
class Touched:
    """The halves of all requests that fresh halves may change."""

    gateways: Halves
    #: The request key of each of the gateway halves.
    request: Keys
    #: Keys that fresh halves claim as aliases: no requests of their own any more.
    claimed: Keys
    engines: Halves
    #: Which of the engine halves; the others are their neighbours.
    wanted: Mask


def touched(halves: Sides, fresh: Sides, retouched: Keys, retouched_parts: Keys) -> Touched:
    """Return what the fresh halves, the first of `halves`, touch; and requests of earlier joins by their keys.

    A fresh half touches the gateway requests that share a response id or a trace with it, these touch their engine
    halves, and those every gateway request that they may have been paired with.
    """
    gateways, engines = halves.gateways, halves.engines
    new = np.arange(len(gateways)) < len(fresh.gateways)
    wanted = np.arange(len(engines)) < len(fresh.engines)
    request = _claimed(gateways)
    claimed = fresh.gateways.alias[fresh.gateways.alias != 0]
    if new.all() and wanted.all():
        return Touched(gateways, request, claimed, engines, wanted)
    found = new | among(request, retouched)
    for side in (fresh.gateways, fresh.engines):
        found |= among(gateways.match, side.match) | among(gateways.trace, side.trace)
    inside = among(request, np.concatenate([request[found], claimed]))
    wanted |= among(engines.part, retouched_parts)
    while True:
        wanted |= among(engines.match, gateways.match[inside]) | among(engines.trace, gateways.trace[inside])
        if (engines.side == LOG).any():  # a new span may be nearer to a line that another span has
            wanted |= among(engines.match, engines.match[wanted])
        found = among(gateways.match, engines.match[wanted]) | among(gateways.trace, engines.trace[wanted])
        more = among(request, request[found]) & ~inside
        if not more.any():
            return Touched(gateways.keep(inside), request[inside], claimed, engines, wanted)
        inside |= more


def _claimed(gateways: Halves) -> Keys:
    """Return the request key of each gateway half: its own, or that of the part which claims it, two levels up."""
    claims = gateways.alias != 0
    if not claims.any():
        return gateways.key
    alias, first = np.unique(gateways.alias[claims], return_index=True)
    key = gateways.key[claims][first]
    key = _looked_up(key, alias, key)
    return _looked_up(gateways.key, alias, key)


def _looked_up(keys: Keys, names: Keys, values: Keys) -> Keys:
    """Return the value of each key that is among the sorted names, else the key itself."""
    place = np.minimum(np.searchsorted(names, keys), len(names) - 1)
    return np.where(names[place] == keys, values[place], keys)


def gateway_side(
    connection: duckdb.DuckDBPyConnection, halves: Halves, request: Keys, aliases: Mapping[str, str]
) -> Side:
    """Return the gateway requests, one row for each request key, instances under the names they are scraped by."""
    halves = replace(halves, body=_renamed(halves.body, aliases))
    unique, inverse, counts = np.unique(request, return_inverse=True, return_counts=True)
    alone = counts[inverse] == 1
    singles = halves.keep(alone)
    side = Side(request[alone], singles.match, singles.trace, singles.start_ns, _with_first_token(singles.body))
    if len(unique) == len(request):
        return side
    several = halves.take(np.flatnonzero(~alone))
    parts = _all_columns(several.body)
    parts = parts.append_column("gateway_key", pa.array(request[~alone]))
    parts = parts.append_column("owns", pa.array(several.key == request[~alone]))
    parts = parts.append_column("is_line", pa.array((several.key == several.match) & (several.match != 0)))
    return _both(side, _merged(connection, "join_gateways_merged", parts, "gateway_key"))


def _with_first_token(body: pa.Table) -> pa.Table:
    """Return the body with the time of the first token beside its distance; attempts of 0 say nothing."""
    if "ttft_seconds" in body.column_names:
        later = pc.cast(pc.round(pc.multiply(body["ttft_seconds"], 1e9)), pa.int64())
        body = body.append_column("first_token_ns", pc.add(body["start_ns"], later))
    if "attempts" in body.column_names:
        attempts = body["attempts"]
        said = pc.if_else(pc.equal(attempts, 0), pa.scalar(None, pa.int64()), attempts)
        body = body.set_column(body.column_names.index("attempts"), "attempts", said)
    return body


def engine_side(
    connection: duckdb.DuckDBPyConnection, halves: Halves, wanted: Mask, aliases: Mapping[str, str]
) -> tuple[Side, Keys]:
    """Return the wanted engine requests, instances under the names by which they are scraped, and all their parts."""
    logs = halves.side == LOG
    span_of = halves.part
    if logs.any() and not logs.all():
        span_of = _spans_of_lines(connection, halves, wanted)
    merged = among(span_of, span_of[span_of != halves.part])
    body = _renamed(halves.body, aliases).append_column("side", pa.array(halves.side))
    tenants = [body[name] for name in ("tenant", "tenant_id") if name in body.column_names]
    if tenants:
        body = body.drop_columns([name for name in ("tenant", "tenant_id") if name in body.column_names])
        body = body.append_column("tenant", pc.coalesce(*tenants))
    alone = wanted & ~merged
    rows = None if alone.all() else np.flatnonzero(alone)
    if rows is None:
        side = Side(halves.part, halves.match, halves.trace, halves.start_ns, body)
    else:
        side = Side(
            halves.part[rows], halves.match[rows], halves.trace[rows], halves.start_ns[rows], body.take(pa.array(rows))
        )
    if not merged.any():
        return side, halves.part[wanted]
    places = np.flatnonzero(merged)
    pieces = _all_columns(body.take(pa.array(places)))
    pieces = pieces.append_column("engine_part", pa.array(span_of[places]))
    pieces = pieces.append_column("owns", pa.array(halves.part[places] == span_of[places]))
    both = _both(side, _merged(connection, "join_engines_merged", pieces, "engine_part"))
    return both, halves.part[wanted | merged]


def _spans_of_lines(connection: duckdb.DuckDBPyConnection, halves: Halves, wanted: Mask) -> Keys:
    """Return the part of the span that each half belongs to: a log line tells of the nearest span of its request."""
    body = halves.body
    table = pa.table(
        {
            "row": pa.array(np.arange(len(halves))),
            "is_line": pa.array(halves.side == LOG),
            "is_span": pa.array(halves.side == ENGINE),
            "part": pa.array(halves.part),
            "match": pa.array(halves.match.view(np.int64)),  # DuckDB 1.5 asks Arrow for no unsigned number
            "start_ns": pa.array(halves.start_ns),
            "instance": body["instance"] if "instance" in body.column_names else pa.nulls(len(halves), pa.string()),
            "wanted": pa.array(wanted),
        }
    )
    connection.register("engine_halves", table)
    rows = connection.execute(sql(PACKAGE, "join_twins")).fetchall()
    connection.unregister("engine_halves")
    found = halves.part.copy()
    for row, part in rows:
        found[row] = part
    return found


def _renamed(body: pa.Table, aliases: Mapping[str, str]) -> pa.Table:
    """Return the body with instances by the names they are scraped under."""
    if not aliases:
        return body
    for name in ("instance", "prefill_instance"):
        if name in body.column_names:
            coded = body[name].combine_chunks().dictionary_encode()
            if isinstance(coded, pa.ChunkedArray):
                coded = coded.combine_chunks()
            known = pa.array([aliases.get(said, said) for said in coded.dictionary.to_pylist()], pa.string())
            body = body.set_column(body.column_names.index(name), name, known.take(coded.indices))
    return body


def _merged(connection: duckdb.DuckDBPyConnection, name: str, parts: pa.Table, key: str) -> Side:
    """Return one row for each key of the parts, as the statement merges them."""
    connection.register("joining_parts", parts)
    found = connection.sql(sql(PACKAGE, name)).to_arrow_table().combine_chunks()
    connection.unregister("joining_parts")
    rows = found.num_rows
    return Side(
        found[key].to_numpy(),
        text_keys(found["match"], rows),
        text_keys(found["trace_id"], rows),
        found["start_ns"].to_numpy(),
        found.drop_columns([key]),
    )


def _both(one: Side, other: Side) -> Side:
    tables = [one.table, other.table] if len(one) else [other.table]
    return Side(
        np.concatenate([one.key, other.key]),
        np.concatenate([one.match, other.match]),
        np.concatenate([one.trace, other.trace]),
        np.concatenate([one.start_ns, other.start_ns]),
        pa.concat_tables(tables, promote_options="permissive").combine_chunks(),
    )


def _all_columns(body: pa.Table) -> pa.Table:
    """Return the body with the columns that none of its halves has, as nulls."""
    for name, kind in BODY_TYPES.items():
        if name not in body.column_names:
            body = body.append_column(name, pa.nulls(len(body), kind))
    return body

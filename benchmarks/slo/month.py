"""Makes a month of requests with every kind of ending, and counts the truth request by request in plain Python.

The counting here repeats the definitions in words of its own and shares no code with the product.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import duckdb
import numpy as np
import pyarrow as pa

START = datetime(2026, 2, 1, tzinfo=UTC)
DAYS = 30
DIMENSIONS = ("model", "tenant", "length_bucket", "model_version", "region", "adapter")
_LENGTHS = (("0-1k", 400), ("1k-4k", 2_000), ("4k-16k", 9_000), ("16k-64k", 40_000), ("64k-256k", 120_000))
_STATUSES = ("ok", "error", "timeout", "rejected", "aborted", "client_error", "rate_limited")
_SHARES = (0.9, 0.02, 0.01, 0.015, 0.035, 0.01, 0.01)


@dataclass(frozen=True, slots=True)
class Request:
    """One request as the truth sees it; None = missing."""

    arrived: datetime
    dims: tuple[str | None, ...]
    status: str
    ttft: float | None
    tpot: float | None
    e2e: float | None
    output_tokens: int | None
    first_token_at: datetime | None
    finished_at: datetime | None


def month(count: int, seed: int = 11) -> list[Request]:
    """Return requests of a month in order of arrival."""
    rng = np.random.default_rng(seed)
    seconds = np.sort(rng.uniform(0, DAYS * 86_400, count))
    found = []
    for second in seconds:
        arrived = START + timedelta(microseconds=int(second * 1e6))
        length, tokens = _LENGTHS[int(rng.integers(len(_LENGTHS)))]
        dims = (
            f"model-{'ab'[int(rng.integers(2))]}",
            _pick(rng, ("acme", "globex", "initech", None)),
            length if rng.random() > 0.02 else None,
            _pick(rng, ("v1", "v2")),
            _pick(rng, ("eu", "us", None)),
            _pick(rng, ("lora-x", None)),
        )
        status = str(rng.choice(_STATUSES, p=_SHARES))
        ttft = float(rng.lognormal(-0.5, 0.9)) * (1 + tokens / 20_000)
        output = int(rng.integers(1, 400))
        tpot = float(rng.lognormal(-3.2, 0.5))
        begun = status == "ok" or (status in ("aborted", "timeout", "error") and rng.random() < 0.6)
        e2e = ttft + tpot * (output - 1)
        if status == "aborted" and begun:
            output = max(1, int(output * rng.random()))
            e2e = ttft + tpot * (output - 1)
        known = rng.random() > 0.01
        found.append(
            Request(
                arrived,
                dims,
                status,
                ttft if begun and known else None,
                tpot if begun and output > 1 else None,
                e2e if begun else float(rng.exponential(1.0)),
                output if begun else 0,
                _after(arrived, ttft) if begun and known else None,
                _after(arrived, e2e) if begun and rng.random() > 0.01 else None,
            )
        )
    return found


def store(connection: duckdb.DuckDBPyConnection, requests: Sequence[Request]) -> None:
    """Insert requests into the table `requests` of a public store."""
    columns: dict[str, list[object]] = {
        "ts": [one.arrived for one in requests],
        "first_token_at": [one.first_token_at for one in requests],
        "finished_at": [one.finished_at for one in requests],
        **{name: [one.dims[place] for one in requests] for place, name in enumerate(DIMENSIONS)},
        "status": [one.status for one in requests],
        "ttft_seconds": [one.ttft for one in requests],
        "tpot_seconds": [one.tpot for one in requests],
        "e2e_seconds": [one.e2e for one in requests],
        "output_tokens": [one.output_tokens for one in requests],
    }
    connection.register("month", pa.table(columns))
    names = ", ".join(columns)
    connection.execute(
        f"insert into requests ({names}, request_id, source) select {names}, 'r' || ts, 'import' from month"
    ).fetchall()
    connection.unregister("month")


def truth(
    requests: Sequence[Request],
    limits: Mapping[str, Mapping[str | None, float]],
    *,
    by: Sequence[str],
    only: Mapping[str, Sequence[str]],
    start: datetime,
    end: datetime,
) -> dict[tuple[str | None, ...], tuple[int, int, int]]:
    """Return (good, bad, excluded) by scope of events in [start, end].

    limits: metric → length bucket → seconds; the key None holds the limit of every other length.
    """
    counts: Counter[tuple[tuple[str | None, ...], int]] = Counter()
    for one in requests:
        own = dict(zip(DIMENSIONS, one.dims, strict=True))
        if any(own[name] not in allowed for name, allowed in only.items()):
            continue
        moment = _moment(one, by_first_token=list(limits) == ["ttft"])
        if not start <= moment <= end:
            continue
        scope = tuple(own[name] if name in by else None for name in DIMENSIONS)
        counts[scope, _outcome(one, limits, own["length_bucket"])] += 1
    scopes = {scope for scope, _ in counts}
    return {scope: (counts[scope, 0], counts[scope, 1], counts[scope, 2]) for scope in scopes}


def _outcome(one: Request, limits: Mapping[str, Mapping[str | None, float]], length: str | None) -> int:
    """Return 0 for good, 1 for bad, 2 for excluded."""
    if one.status in ("client_error", "rate_limited"):
        return 2
    if one.status in ("error", "timeout", "rejected"):
        return 1
    values = {"ttft": one.ttft, "tpot": one.tpot, "e2e": one.e2e}
    unknown = False
    for metric, by_length in limits.items():
        value = values[metric]
        if value is None:
            unknown = unknown or not (metric == "tpot" and one.output_tokens is not None and one.output_tokens <= 1)
        elif value > by_length.get(length, by_length[None]):
            return 1
    if one.status == "aborted":
        return 1 if one.ttft is None else 0
    return 2 if unknown else 0


def _moment(one: Request, *, by_first_token: bool) -> datetime:
    if by_first_token and one.first_token_at is not None:
        return one.first_token_at
    if by_first_token and one.ttft is not None:
        return _after(one.arrived, one.ttft)
    if one.finished_at is not None:
        return one.finished_at
    return one.arrived if one.e2e is None else _after(one.arrived, one.e2e)


def _after(moment: datetime, seconds: float) -> datetime:
    return moment + timedelta(microseconds=round(seconds * 1e6))


def _pick(rng: np.random.Generator, values: Sequence[str | None]) -> str | None:
    return values[int(rng.integers(len(values)))]

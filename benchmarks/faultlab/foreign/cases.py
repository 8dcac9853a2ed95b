"""Makes one case of the foreign laboratory, takes away what the service does not record, and keeps the truth."""

from __future__ import annotations

from dataclasses import dataclass

import duckdb
import numpy as np
import numpy.typing as npt

from benchmarks.faultlab.foreign.columns import BEGIN_US
from benchmarks.faultlab.foreign.details import FAULTS, OUTSIDE_ENGINES, SMALLEST
from benchmarks.faultlab.foreign.fleet import Fleet, draw_fleet
from benchmarks.faultlab.foreign.habits import GAPS
from benchmarks.faultlab.foreign.nuisances import disturb
from benchmarks.faultlab.foreign.record import record
from benchmarks.faultlab.foreign.serve import serve
from signals.views import VIEWS

CONTROL = "no_fault"
LOG_ONLY = (
    "instance", "queue_seconds", "prefill_seconds", "transfer_seconds", "decode_seconds", "gateway_seconds",
    "engine_ttft_seconds", "engine_e2e_seconds", "cached_tokens", "region", "adapter", "spec_draft_tokens",
    "spec_accepted_tokens",
)  # fmt: skip
#: What each gap takes: (table, columns), no columns = all rows.
TAKES: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "gpus": (("gpu_samples", ()), ("gpu_events", ())),
    "hosts": (("host_samples", ()),),
    "gateway": (("requests", ("gateway_seconds",)),),
    "queue": (("requests", ("queue_seconds",)),),
    "stages": (("requests", ("queue_seconds", "prefill_seconds", "transfer_seconds", "decode_seconds")),),
    "tenants": (("requests", ("tenant",)),),
    "regions": (("requests", ("region",)), ("engine_samples", ("region",)), ("instances", ("region",))),
    "versions": (("requests", ("model_version",)),),
    "instances": (("requests", ("instance",)),),
    "cached": (("requests", ("cached_tokens",)),),
    "lives": (("instances", ()),),
    "buckets": (("requests", ("length_bucket",)),),
    "engine_ttft": (("requests", ("engine_ttft_seconds", "engine_e2e_seconds")),),
    "changes": (("changes", ()),),
    "pages": (("engine_samples", ()), ("signal_samples", ())),
    "spec": (
        ("requests", ("spec_draft_tokens", "spec_accepted_tokens")),
        ("engine_samples", ("spec_drafts", "spec_draft_tokens", "spec_accepted_tokens")),
    ),
    "adapters": (("requests", ("adapter",)), ("engine_samples", ("adapters_waiting",))),
}
REQUESTS_ONLY = ("pages", "gpus", "hosts", "lives")
#: Gaps that a service without requests has.
PAGES_ONLY = ("gateway", "queue", "stages", "tenants", "versions", "instances", "cached", "buckets", "engine_ttft")
LOG_GAPS = ("gateway", "queue", "stages", "instances", "cached", "engine_ttft", "adapters", "regions", "spec")


@dataclass(slots=True)
class Case:
    """A case as it stands in the tables; `told` says whether an expert could tell the cause from what is recorded."""

    fault: str
    seed: int
    fleet: Fleet
    felt: bool
    told: bool
    missing: frozenset[str]
    stage: str | None
    rows: dict[str, npt.NDArray[np.generic]]

    @property
    def accepted(self) -> frozenset[str]:
        """Return the causes that are right."""
        truth = self.fleet.truth
        return frozenset(truth.accepted if self.told else (*truth.accepted, *truth.instead))


def make(fault: str, seed: int, connection: duckdb.DuckDBPyConnection) -> Case:
    """Simulate a case into the tables of the connection, which are emptied first."""
    for view in VIEWS:
        connection.execute(f"delete from {view}")
    fleet = draw_fleet(seed, SMALLEST.get(fault, 1))
    FAULTS[fault](fleet)
    disturb(fleet)
    kind = fleet.habits.kind
    if kind == "pages" and fault in OUTSIDE_ENGINES:
        kind = "full"
    rows = record(fleet, serve(fleet), connection)
    felt = _felt(fleet, connection, pages=kind == "pages")
    stage = _stage(fleet, connection)
    missing = _take(fleet, kind, connection)
    has = (set(GAPS) - missing) | ({"requests"} if kind != "pages" else set())
    told = any(set(way.split("+")) <= has for way in fleet.truth.needs)
    return Case(fault, seed, fleet, felt, told, frozenset(missing | {f"kind {kind}"}), stage, rows)


def _take(fleet: Fleet, kind: str, connection: duckdb.DuckDBPyConnection) -> set[str]:
    missing = set(fleet.habits.missing)
    if kind in ("requests", "gateway_log"):
        missing |= set(REQUESTS_ONLY)
    if kind == "gateway_log":
        missing |= set(LOG_GAPS)
        nulls = ", ".join(f"{column} = null" for column in LOG_ONLY)
        connection.execute(f"update requests set {nulls}, source = 'log'")
    if kind == "pages":
        missing |= set(PAGES_ONLY)
        connection.execute("delete from requests")
    for name in missing & set(TAKES):
        for table, columns in TAKES[name]:
            if not columns and not (kind == "pages" and table in ("engine_samples", "signal_samples")):
                connection.execute(f"delete from {table}")
            for column in columns:
                connection.execute(f"update {table} set {column} = null")
    return missing


def window(fleet: Fleet) -> tuple[int, int]:
    """Return the first and last microsecond of the fault."""
    return tuple(BEGIN_US + int(t * 1e6) for t in (fleet.habits.since, fleet.habits.until))  # type: ignore[return-value]


def _felt(fleet: Fleet, connection: duckdb.DuckDBPyConnection, *, pages: bool) -> bool:
    """Say whether there was an incident: P99 rose by a third (by pages: doubled) and ten more than usual were slow."""
    metric = fleet.truth.metric
    column = f"engine_{metric}_seconds" if pages and metric != "tpot" else f"{metric}_seconds"
    since, until = window(fleet)
    row = connection.execute(
        f"with values as (select case when status in ('timeout', 'error') then 1e9 else {column} end as v, "
        "epoch_us(ts) >= $since as late from requests where epoch_us(ts) between $since - 7200000000 and $until), "
        "usual as (select quantile_cont(v, 0.99) as q from values where not late) "
        "select any_value(q), quantile_cont(v, 0.99) filter (where late), count(*) filter (where late and v > q) "
        "- 0.01 * count(*) filter (where late) from values, usual",
        {"since": since, "until": until},
    ).fetchone()
    return row is not None and None not in row and row[1] > (2.0 if pages else 1.33) * row[0] and row[2] >= 10


def _stage(fleet: Fleet, connection: duckdb.DuckDBPyConnection) -> str | None:
    """Return the stage that grew most among the slowest twentieth."""
    if fleet.truth.metric != "ttft":
        return None
    since, until = window(fleet)
    names = ("gateway", "queue", "prefill", "transfer")
    rows = connection.execute(
        "with placed as (select *, epoch_us(ts) >= $since as late, percent_rank() over "
        "(partition by epoch_us(ts) >= $since order by ttft_seconds) as place from requests "
        "where epoch_us(ts) between $since - 7200000000 and $until and ttft_seconds is not null) select "
        + ", ".join(
            f"avg(coalesce({n}_seconds, 0)) filter (where late) - avg(coalesce({n}_seconds, 0)) filter (where not late)"
            for n in names
        )
        + " from placed where place >= 0.95",
        {"since": since, "until": until},
    ).fetchone()
    if rows is None or None in rows:
        return None
    return max(zip(rows, names, strict=True))[1]


def segment_right(case: Case, segment: dict[str, str]) -> bool:
    """Say whether a segment holds nearly the requests that one of the true segments holds while the fault lasts."""
    rows, (since, until) = case.rows, window(case.fleet)
    t = rows["ts"].astype("datetime64[us]").astype(np.int64)
    inside = (t >= since) & (t < until)
    dims = {"instance": "instances", "tenant": "tenants", "region": "regions", "model_version": "versions"}
    truths = list(case.fleet.truth.segments)
    if all(any(dims.get(name) in case.missing for name in truth) for truth in truths if truth):
        truths.append({})
    if segment in truths:
        return True
    mine = _mask(rows, segment) & inside
    for truth in truths:
        other = _mask(rows, truth) & inside
        if (mine & other).sum() >= 0.75 * max((mine | other).sum(), 1):
            return True
    return False


def _mask(rows: dict[str, npt.NDArray[np.generic]], segment: dict[str, str]) -> npt.NDArray[np.bool_]:
    mask = np.ones(len(rows["ts"]), dtype=bool)
    for name, value in segment.items():
        if name not in rows:
            return np.zeros(len(mask), dtype=bool)
        column = rows[name]
        if column.dtype.kind == "b":
            column = np.where(column.astype(bool), "true", "false").astype(object)
        mask &= np.asarray(column == value, dtype=bool)
    return mask

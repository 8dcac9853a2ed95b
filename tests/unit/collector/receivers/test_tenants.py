"""Tenants beyond the limit are stored as one and counted; start-up spans become phases of a start."""

from __future__ import annotations

from collector.receivers.startup import startup_batch
from collector.receivers.tenants import TenantCap
from collector.store.batch import HalfBatch
from signals.records import Identity
from signals.spans import RequestHalf, Span

IDENTITY = Identity("a", "b", 1)


def batch(*tenants: str | None) -> HalfBatch:
    return HalfBatch(
        IDENTITY, tuple(RequestHalf("gateway", str(i), str(i), 1, tenant=t) for i, t in enumerate(tenants))
    )


def test_the_first_tenants_are_kept_and_the_rest_are_other() -> None:
    cap = TenantCap(2)
    found, folded = cap.fold(batch("a", "b", "c", None, "a"))
    assert [half.tenant for half in found.halves] == ["a", "b", "other", None, "a"]
    assert folded == 1


def test_stored_tenants_are_known_from_the_start() -> None:
    cap = TenantCap(1)
    cap.remember(["z"])
    found, folded = cap.fold(batch("z", "a"))
    assert ([half.tenant for half in found.halves], folded) == (["z", "other"], 1)


def test_a_batch_without_tenants_is_left_alone() -> None:
    plain = batch(None, None)
    assert TenantCap(1).fold(plain) == (plain, 0)


def test_start_up_spans_become_phases() -> None:
    start = 1_780_000_000_000_000_000
    spans = [
        Span("Load model", "t", "s", "", start, start + 2_500_000_000, resource={"sloscope.instance": "a:1"}),
        Span("llm_request", "t", "s", "", start, start + 1),
    ]
    found = startup_batch(IDENTITY, spans)
    assert found is not None
    (row,) = found.table.to_pylist()
    assert (row["instance"], row["signal"], row["value"]) == ("a:1", "startup_phase_seconds", 2.5)
    assert dict(row["attributes"]) == {"phase": "Load model"}
    assert startup_batch(IDENTITY, spans[1:]) is None

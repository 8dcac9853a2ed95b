"""A log's record becomes the same half wherever it is read, and what names a person stays behind."""

from __future__ import annotations

import json

import pytest

from signals.dialects.canonical_requests import TEXT
from signals.errors import UnknownNameError
from signals.privacy import keeps
from signals.requestlog import LogReader


def sglang(**meta: object) -> dict[str, object]:
    return {
        "request_parameters": json.dumps({"text": "what was said"}),
        "id": "r-1",
        "e2e_latency": 2.0,
        "request_received_ts": 1_700_000_000.0,
        **meta,
    }


def test_a_line_that_names_neither_instance_nor_model_takes_the_logs() -> None:
    half = LogReader(instance="sglang-0", model="m").half(sglang())
    assert half is not None
    assert (half.instance, half.model, half.e2e_seconds) == ("sglang-0", "m", 2.0)
    named = LogReader(model="m").half(sglang(model="other"))
    assert named is not None
    assert named.model == "other"


def test_only_the_lines_of_the_named_engine_count() -> None:
    assert LogReader("sglang").half(sglang()) is not None
    assert LogReader("dynamo").half(sglang()) is None
    with pytest.raises(UnknownNameError, match="sglang"):
        LogReader("sglnag").half(sglang())


@pytest.mark.parametrize("record", [None, 1, "text", [sglang()], {}])
def test_what_is_no_request_is_none(record: object) -> None:
    assert LogReader().half(record) is None


@pytest.mark.parametrize(
    "broken",
    [
        {"request_received_ts": 1e300},
        {"request_received_ts": 1e12, "e2e_latency": 1e300},
        {"request_parameters": "[" * 100_000},
        {"id": {"not": "text"}},
    ],
)
def test_a_line_with_absurd_values_is_none_or_has_times_that_can_be_kept(broken: dict[str, object]) -> None:
    half = LogReader().half(sglang(**broken))
    assert half is None or (half.start_ns < 2**63 and half.end_ns is None)


def test_a_worker_id_of_thousands_of_digits_is_no_request() -> None:
    request = {"request_id": "r", "request_received_ms": 1, "worker": {"decode_worker_id": "9" * 5_000}}
    record = {"schema": "dynamo.request.trace.v1", "event_type": "request_end", "request": request}
    assert LogReader().half(record) is None


def test_an_id_that_names_a_person_stays_as_a_digest_and_other_texts_go() -> None:
    half = LogReader().half(sglang(id="ann@example.org"))
    assert half is not None
    assert "@" not in str(half)
    assert half.request_id is None
    assert half.match == half.key
    assert half.match is not None
    assert len(half.match) == 32
    again = LogReader().half(sglang(id="ann@example.org"))
    assert again == half


def test_people_may_keep_a_field_but_never_a_long_text() -> None:
    exempt = frozenset({"request_id", "model"})
    half = LogReader(exempt=exempt).half(sglang(id="ann@example.org", model="x" * 2000))
    assert half is not None
    assert (half.request_id, half.model) == ("ann@example.org", None)


@pytest.mark.parametrize("name", sorted(TEXT))
def test_no_text_of_a_half_is_dropped_for_its_name(name: str) -> None:
    assert keeps(name, "x")
    assert keeps(f"sloscope.request.{name}", "x")

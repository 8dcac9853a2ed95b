"""Whatever is in the lines and however the files grow: nothing stops, every whole line comes once."""

from __future__ import annotations

import gzip
import os
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from agent.encode import seal
from agent.requestlogs.encode import encode_halves
from collector.receivers.traces import decode_traces, parse_spans
from signals.records import Identity
from signals.requestlog import LogReader
from tests.unit.agent.requestlogs.test_watch import Rig, line

SCALARS = st.sampled_from(
    [None, True, 0, 1, -1, 1_700_000_000, 2**63, 10**400, 0.5, -0.5, 1e300, float("nan"), "", "None", "r-1", "1.5",
     "9" * 30, "9" * 5_000, "ann@example.org", "\ud800", "2026-01-01T00:00:00Z", "x" * 2_000]
)  # fmt: skip
KEYS = st.sampled_from(["type", "decode_worker_id", "prefill_worker_id", "finish_reason", "sampling_params", "id"])
VALUES = SCALARS | st.lists(SCALARS, max_size=3) | st.dictionaries(KEYS, SCALARS, max_size=3)
SGLANG = (
    "request_parameters", "id", "e2e_latency", "queue_time", "prompt_tokens", "completion_tokens", "finish_reason",
    "request_received_ts", "response_sent_to_client_ts", "spec_draft_token_num", "weight_version", "meta_info",
)  # fmt: skip
DYNAMO = (
    "request_id", "x_request_id", "model", "input_tokens", "request_received_ms", "ttft_ms", "total_time_ms", "worker",
    "replay", "finish_reason_metadata",
)  # fmt: skip
STEPS = st.lists(st.sampled_from(["add", "part", "look", "restart", "rotate", "truncate"]), max_size=25)


def records() -> st.SearchStrategy[dict[str, object]]:
    named = st.sampled_from(["r-1", "ann@example.org", "\ud800"]) | VALUES
    at = st.sampled_from([1_700_000_000, 1_700_000_000_000]) | VALUES
    sglang = st.fixed_dictionaries({**dict.fromkeys(SGLANG, VALUES), "id": named, "request_received_ts": at})
    dynamo = st.fixed_dictionaries(
        {**dict.fromkeys(DYNAMO, VALUES), "request_id": named, "request_received_ms": at}
    ).map(lambda request: {"schema": "dynamo.request.trace.v1", "event_type": "request_end", "request": request})
    return sglang | dynamo


@given(records())
def test_any_half_that_is_read_can_travel(record: dict[str, object]) -> None:
    half = LogReader(instance="i", model="m").half(record)
    if half is not None:
        assert "@" not in str(half)
        body = seal([encode_halves([half], Identity("a", "e", 1))])
        assert decode_traces(parse_spans(body), "peer").rejected == 0


@settings(max_examples=25, deadline=None)
@given(STEPS)
def test_every_line_comes_once_however_a_log_grows(steps: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        rig = Rig(Path(folder))
        rig.add("")
        written, held = 0, ""
        for step in [*steps, "add", "look", "look"]:
            if step == "add":
                written += 1
                rig.add(held + line(written))
                held = ""
            elif step == "part" and not held:
                written += 1
                text = line(written)
                rig.add(text[:60])
                held = text[60:]
            elif step == "rotate":
                rig.add(held)
                held = ""
                rig.file().rename(rig.file(f"a.jsonl.{written}.{rig.clock.seconds}"))
                rig.add("")
            elif step == "truncate":
                rig.add(held)
                held = ""
                rig.step()
                rig.file().write_text("")
            elif step == "restart":
                rig.restart()
            rig.clock.seconds += 1.0
            written_ns = rig.clock.wall_ns()  # a second apart, as in life
            os.utime(rig.file(), ns=(written_ns, written_ns))
            if step == "look":
                rig.step()
        assert sorted(rig.seen()) == list(range(1, written + 1))


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 400), st.booleans()), max_size=12))
def test_every_line_of_a_gzipped_log_comes_once_however_its_bytes_arrive(cuts: list[tuple[int, bool]]) -> None:
    members = [gzip.compress("".join(line(5 * n + k) for k in range(1, 6)).encode()) for n in range(4)]
    packed = b"".join(members)
    with tempfile.TemporaryDirectory() as folder:
        rig = Rig(Path(folder))
        path = rig.file("t.jsonl.gz")
        path.touch()
        for length, restarts in [*cuts, (len(packed), False)]:
            with path.open("ab") as stream:
                stream.write(packed[:length])
            packed = packed[length:]
            rig.step()
            if restarts:
                rig.restart()
        assert rig.seen() == list(range(1, 21))

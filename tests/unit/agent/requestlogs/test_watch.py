"""Request logs are followed: through rotation, truncation, restarts and broken lines, each request comes once."""

from __future__ import annotations

import gzip
import json
import logging
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from agent.config import RequestLogConfig
from agent.encode import seal
from agent.requestlogs import watch
from agent.requestlogs.watch import RequestLog
from agent.selfmetrics import SelfMetrics
from agent.spool import TRACES
from collector.receivers.traces import decode_traces, parse_spans
from signals.errors import StoreError
from signals.spans import RequestHalf
from tests.unit.agent.support import FakeClock, new_spool

SECRET = "what was said"


def line(number: int, **more: object) -> str:
    record = {
        "request_parameters": json.dumps({"text": SECRET}),
        "id": f"r-{number}",
        "e2e_latency": 2.0,
        "prompt_tokens": number,
        "request_received_ts": 1_700_000_000.0 + number,
        **more,
    }
    return json.dumps(record) + "\n"


def lines(first: int, last: int) -> str:
    return "".join(line(number) for number in range(first, last + 1))


class Rig:
    """A log's folder, a spool and a clock; `life` is one life of the agent."""

    def __init__(self, folder: Path, **settings: object) -> None:
        self.folder = folder / "log"
        self.folder.mkdir()
        self.clock = FakeClock()
        self.spool = new_spool(folder, self.clock, max_bytes=settings.pop("max_bytes", 100_000_000))
        self.metrics = SelfMetrics()
        self.settings = {"path": str(self.folder / "*.jsonl*"), **settings}
        self.log = self.life()

    def life(self) -> RequestLog:
        config = RequestLogConfig(**self.settings)  # type: ignore[arg-type]  # as a test likes
        log = RequestLog(config, self.spool, self.metrics, self.clock.monotonic)
        log.recall()
        return log

    def restart(self) -> None:
        self.log.stop()
        self.log = self.life()

    def file(self, name: str = "a.jsonl") -> Path:
        return self.folder / name

    def add(self, text: str, name: str = "a.jsonl") -> None:
        with self.file(name).open("a") as stream:
            stream.write(text)

    def step(self, seconds: float = 1.0) -> None:
        self.clock.seconds += seconds
        self.log.step()

    def halves(self) -> list[RequestHalf]:
        body = seal(waiting.batch for waiting in self.spool.waiting(TRACES, 10**9))
        return [half for batch in decode_traces(parse_spans(body), "peer").batches for half in batch.halves]

    def seen(self) -> list[int]:
        return [half.input_tokens or 0 for half in self.halves()]

    def counted(self, outcome: str) -> float:
        labels = {"path": str(self.settings["path"]), "outcome": outcome}
        return self.metrics.registry.get_sample_value("sloscope_agent_request_log_lines_total", labels) or 0.0


def test_lines_are_taken_as_they_are_added_and_a_part_of_one_waits(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.add(lines(1, 2) + line(3)[:40])
    rig.step()
    assert rig.seen() == [1, 2]
    rig.add(line(3)[40:])
    rig.step()
    rig.step()
    assert rig.seen() == [1, 2, 3]


def test_what_was_said_reaches_neither_disk_nor_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    rig = Rig(tmp_path)
    rig.add(line(1) + '{"request_parameters": "' + SECRET + "\n")
    with caplog.at_level(logging.DEBUG):
        rig.step()
    body = seal(waiting.batch for waiting in rig.spool.waiting(TRACES, 10**9))
    assert SECRET.encode() not in body
    assert SECRET not in caplog.text
    assert rig.counted("bad") == 1


def test_instance_and_model_are_the_configured_ones_where_the_line_has_none(tmp_path: Path) -> None:
    rig = Rig(tmp_path, engine="sglang", instance="sglang-0", model="m")
    rig.add(line(1))
    rig.step()
    (half,) = rig.halves()
    assert (half.instance, half.model, half.engine) == ("sglang-0", "m", "sglang")


def test_a_restarted_agent_goes_on_where_the_last_batch_ended(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.add(lines(1, 3) + line(4)[:30])
    rig.step()
    rig.restart()
    rig.add(line(4)[30:] + line(5))
    rig.step()
    assert rig.seen() == [1, 2, 3, 4, 5]


def test_a_batch_that_was_not_kept_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig(tmp_path)
    rig.add(lines(1, 3))

    def full(*_: object, **__: object) -> None:
        raise StoreError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(type(rig.spool), "put", full)
        rig.step()
    assert rig.seen() == []
    rig.step()
    assert rig.seen() == [1, 2, 3]


def test_a_renamed_file_is_read_to_its_end_and_the_new_one_from_its_beginning(tmp_path: Path) -> None:
    rig = Rig(tmp_path, path=str(tmp_path / "log" / "a.jsonl"))
    rig.add(lines(1, 2))
    rig.step()
    rig.add(line(3))
    rig.file().rename(rig.file("old"))
    rig.add(line(5))
    rig.step()
    rig.add(line(4), "old")  # the writer has not changed over yet
    rig.step()
    assert sorted(rig.seen()) == [1, 2, 3, 4, 5]
    rig.step(120.0)
    rig.step()
    assert len(rig.log._followers) == 1


def test_a_rotated_file_that_the_pattern_has_too_is_not_read_again(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.add(lines(1, 2))
    rig.step()
    rig.file().rename(rig.file("a.jsonl.1"))
    rig.add(line(3))
    rig.step()
    rig.restart()
    rig.step()
    assert rig.seen() == [1, 2, 3]


@pytest.mark.parametrize("regrown", [lines(3, 3), lines(3, 9)])
def test_a_file_that_was_copied_and_truncated_begins_anew_and_the_copy_does_not(tmp_path: Path, regrown: str) -> None:
    rig = Rig(tmp_path)
    rig.add(lines(1, 2))
    rig.step()
    shutil.copy(rig.file(), rig.file("a.jsonl.1"))
    rig.file().write_text(regrown)
    rig.step()
    rig.step()
    assert rig.seen() == [1, 2, *range(3, 3 + regrown.count("\n"))]


def test_what_was_added_between_the_last_look_and_a_copy_is_in_the_copy(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.add(lines(1, 2))
    rig.step()
    rig.add(line(3))
    shutil.copy(rig.file(), rig.file("a.jsonl.1"))
    rig.file().write_text(line(4))
    rig.step()
    assert sorted(rig.seen()) == [1, 2, 3, 4]


def test_a_new_file_with_a_known_inode_is_read_from_its_beginning(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.add(lines(1, 2))
    rig.step()
    rig.restart()
    with rig.file().open("r+") as stream:  # the same inode with other content, as after a delete
        stream.write(lines(5, 9))
        stream.truncate()
    rig.step()
    assert rig.seen() == [1, 2, 5, 6, 7, 8, 9]


def test_bad_lines_are_counted_told_once_with_their_number_and_stop_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rig = Rig(tmp_path)
    rig.add(line(1) + "\n" + "no json\n" + line(2) + "[1]\n" + '{"other": 1}\n' + "\xff{\n" + line(3))
    with caplog.at_level(logging.WARNING):
        rig.step()
    assert rig.seen() == [1, 2, 3]
    assert (rig.counted("request"), rig.counted("bad"), rig.counted("other")) == (3, 2, 2)
    assert [record.getMessage().count("line 3 is no JSON") for record in caplog.records] == [1]


def test_a_line_that_is_too_long_is_left_out_and_the_next_is_read(tmp_path: Path) -> None:
    rig = Rig(tmp_path, line_bytes=1_000_000)
    rig.add(line(1) + line(2, pad="x" * 1_500_000)[:-1])
    rig.step()
    rig.restart()
    rig.add("\n" + line(3))
    rig.step()
    assert rig.seen() == [1, 3]
    assert rig.counted("too_long") == 1
    assert rig.counted("bad") == 0


def test_a_long_line_below_the_limit_is_read(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.add(line(1, pad="x" * 900_000))
    rig.step()
    assert rig.seen() == [1]


def test_a_large_file_comes_in_batches(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.add(lines(1, 2_500))
    rig.step()
    assert rig.seen() == list(range(1, 2_501))
    assert rig.spool.backlog().batches >= 2


def members(*parts: Sequence[str]) -> bytes:
    return b"".join(gzip.compress("".join(part).encode()) for part in parts)


def test_a_gzipped_trace_that_grows_by_members_is_followed(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    trace = rig.file("trace.000000.jsonl.gz")
    trace.write_bytes(members([lines(1, 2)], [line(3), line(4)[:25]]))
    rig.step()
    assert rig.seen() == [1, 2, 3]
    rig.restart()
    with trace.open("ab") as stream:
        stream.write(members([line(4)[25:], line(5)])[:-6])
    rig.step()
    rig.restart()
    with trace.open("ab") as stream:
        stream.write(members([line(4)[25:], line(5)])[-6:] + members([line(6)]))
    rig.step()
    rig.step()
    assert rig.seen() == [1, 2, 3, 4, 5, 6]


def test_a_large_gzipped_file_is_read_in_pieces(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.file("a.jsonl.gz").write_bytes(gzip.compress(lines(1, 2_500).encode()))
    rig.step()
    assert rig.seen() == list(range(1, 2_501))


def test_broken_gzip_data_is_told_and_costs_only_what_is_behind_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rig = Rig(tmp_path)
    rig.file("a.jsonl.gz").write_bytes(members([lines(1, 2)]) + b"no gzip at all")
    rig.add(line(3), "b.jsonl")
    rig.step()
    rig.step()
    assert sorted(rig.seen()) == [1, 2, 3]
    assert caplog.text.count("broken gzip data") == 1


def test_only_new_lines_count_where_old_ones_are_not_wanted(tmp_path: Path) -> None:
    rig = Rig(tmp_path, start="end")
    rig.add(lines(1, 3) + line(4)[:20])
    rig.step()
    rig.add(line(4)[20:] + line(5))
    rig.add(lines(6, 7), "b.jsonl")
    rig.step()
    assert sorted(rig.seen()) == [4, 5, 6, 7]


def test_nothing_is_read_while_much_waits_for_delivery(tmp_path: Path) -> None:
    rig = Rig(tmp_path, max_bytes=20_000)
    rig.add(lines(1, 2_500))
    rig.step()
    first = rig.seen()
    assert 0 < len(first) < 2_500
    rig.step(10_000.0)
    assert rig.seen() == first
    while waiting := rig.spool.waiting(TRACES, 10**9):
        rig.spool.done(waiting)
        rig.step()
    assert rig.counted("request") == 2_500


def test_a_quiet_file_is_closed_its_last_line_taken_and_opened_again_when_it_grows(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.add(line(1) + line(2).rstrip("\n"))
    rig.step()
    assert rig.seen() == [1]
    rig.step(watch.ASLEEP_SECONDS + 1)
    assert rig.seen() == [1, 2]
    assert all(follower.asleep for follower in rig.log._followers.values())
    rig.add("\n" + line(3))
    rig.step()
    assert rig.seen() == [1, 2, 3]
    assert rig.counted("bad") == 0


def test_many_files_are_read_though_few_are_open_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "MAX_OPEN", 3)
    rig = Rig(tmp_path)
    for number in range(12):
        rig.add(line(number), f"{number}.jsonl")
    for _ in range(2):
        rig.step()
        assert sum(not follower.asleep for follower in rig.log._followers.values()) <= 4
    for number in range(12):
        rig.add(line(100 + number), f"{number}.jsonl")
    rig.step()
    rig.step()
    assert sorted(rig.seen()) == [*range(12), *range(100, 112)]


def test_marks_of_quiet_files_outlive_the_week_after_which_marks_are_forgotten(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.add(line(1))
    for _ in range(10):
        rig.step(86_401.0)
        rig.spool.tidy()
    rig.restart()
    rig.step()
    assert rig.seen() == [1]


def test_a_file_that_may_not_be_read_is_told_and_stops_no_other(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = Rig(tmp_path)
    rig.add(line(1))
    rig.add(line(2), "b.jsonl")
    opened = os.open

    def refused(path: object, *more: int) -> int:
        if str(path).endswith("a.jsonl"):
            raise PermissionError(13, "Permission denied")
        return opened(str(path), *more)

    monkeypatch.setattr(os, "open", refused)
    rig.step()
    rig.step()
    assert rig.seen() == [2]
    assert caplog.text.count("Permission denied") == 1


def test_a_stopped_log_reads_no_more(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.log.stop()
    rig.add(line(1))
    rig.log.step()
    assert rig.seen() == []

"""`check` and `doctor` look at request logs once and say what is wrong before anything is missed."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import pytest

from agent.cli import main
from agent.config import RequestLogConfig
from agent.requestlogs.probe import look_at_log
from tests.unit.agent.requestlogs.test_watch import line


def look(path: Path, **settings: str) -> tuple[int, tuple[str, ...], str | None]:
    found = look_at_log(RequestLogConfig(str(path), **settings))  # type: ignore[arg-type]  # texts only
    return found.files, found.engines, found.fault


def test_the_newest_file_tells_whose_requests_it_has(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("old\n")
    (tmp_path / "b.log").write_text(line(1) + "no json\n" + line(2)[:30])
    assert look(tmp_path / "*.log", model="m") == (2, ("sglang",), None)


def test_a_gzipped_file_that_is_still_written_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    whole = gzip.compress(line(1).encode())
    (tmp_path / "a.jsonl.gz").write_bytes(whole + whole[:-9])
    assert look(tmp_path / "*.gz", model="m") == (1, ("sglang",), None)


@pytest.mark.parametrize(
    ("text", "settings", "fault"),
    [
        ("plain words\n", {}, "none of the first 1 lines tells of a request"),
        (line(1), {"engine": "dynamo"}, "none of the first 1 lines tells of a request"),
        (line(1), {}, "lines name no model; set `model`"),
    ],
)
def test_what_would_be_missed_is_a_fault(tmp_path: Path, text: str, settings: dict[str, str], fault: str) -> None:
    (tmp_path / "a.log").write_text(text)
    found = look(tmp_path / "a.log", **settings)[2]
    assert found is not None
    assert fault in found


def test_a_log_without_lines_is_none_and_a_pattern_without_files_is(tmp_path: Path) -> None:
    assert look(tmp_path / "*.log")[2] == "no file matches"
    (tmp_path / "a.log").touch()
    assert look(tmp_path / "*.log") == (1, (), None)


def test_a_file_that_cannot_be_read_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "a.log.gz").write_text("no gzip")
    found = look(tmp_path / "*.gz")[2]
    assert found is not None
    assert "a.log.gz: " in found


@pytest.mark.parametrize(("command", "place"), [("check", "url"), ("doctor", "check")])
def test_both_commands_list_request_logs(tmp_path: Path, command: str, place: str) -> None:
    (tmp_path / "a.log").write_text(line(1))
    config = tmp_path / "agent.yaml"
    config.write_text(
        f"agent: {{spool: '{tmp_path}/s.db', listen: null}}\nspans: {{listen: null}}\ngpu: {{enabled: 'no'}}\n"
        f"requests: [{{path: '{tmp_path}/*.log', model: m}}, {{path: '{tmp_path}/gone'}}]\n"
    )
    out = io.StringIO()
    status = main([command, "--config", str(config), "-o", "json"], out, io.StringIO(), {})
    rows = [row for row in json.loads(out.getvalue()) if str(tmp_path) in row[place] and "spool" not in row[place]]
    assert [(row["state"], row["note"]) for row in rows] == [
        ("ok", "1 file"),
        ("failed" if command == "check" else "fault", "no file matches"),
    ]
    assert status == 1 if command == "check" else status in {1, 4}

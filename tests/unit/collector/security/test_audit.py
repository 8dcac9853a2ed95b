"""The audit log is append-only JSON, readable by its owner, and never stops the server."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from collector.security.audit import MAX_TEXT, AuditLog

NOW = datetime(2026, 5, 1, tzinfo=UTC)


def test_each_record_is_one_line_of_json(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit.jsonl", lambda: NOW)
    log.record("sql", "ada", "127.0.0.1", query="select 1\nfrom x", outcome="ok")
    log.record("pin", "ada", "127.0.0.1", pool="chat")
    first, second = (json.loads(line) for line in (tmp_path / "audit.jsonl").read_text().splitlines())
    assert (first["ts"], first["query"]) == ("2026-05-01T00:00:00Z", "select 1\nfrom x")
    assert second["action"] == "pin"


def test_only_the_owner_may_read_it(tmp_path: Path) -> None:
    AuditLog(tmp_path / "audit.jsonl", lambda: NOW).record("sql", "a", "b")
    assert (tmp_path / "audit.jsonl").stat().st_mode & 0o077 == 0


def test_long_queries_are_cut(tmp_path: Path) -> None:
    AuditLog(tmp_path / "a", lambda: NOW).record("sql", "a", "b", query="x" * (MAX_TEXT + 5))
    assert len(json.loads((tmp_path / "a").read_text())["query"]) == MAX_TEXT


def test_a_folder_that_is_not_there_becomes_a_fault(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "none" / "a", lambda: NOW)
    log.record("sql", "a", "b")
    assert log.fault is not None

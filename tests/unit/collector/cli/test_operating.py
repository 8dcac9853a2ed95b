"""Tokens are shown once, doctor examines, objective files are checked, exports are files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from collector.cli.main import main
from collector.security.tokens import digest
from collector.store.store import Store
from tests.support.loopback import served

OBJECTIVES = Path(__file__).resolve().parents[4] / "sample_data" / "objectives"


def test_a_token_is_shown_once_and_stored_hashed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["token", "rack-7", "--scope", "ingest", "--scope", "read"]) == 0
    shown = capsys.readouterr()
    secret = shown.err.split()[-1]
    assert secret not in shown.out and digest(secret) in shown.out
    assert main(["token", "rack-7"]) == 2


def test_doctor_examines_a_store_a_server_and_a_missing_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    db = tmp_path / "x.duckdb"
    assert main(["doctor", "--db", str(db)]) == 1
    assert "BAD" in capsys.readouterr().out
    Store.open(db).close()
    assert main(["doctor", "--db", str(db), "-o", "json"]) == 1
    findings = {item["finding"]: item["ok"] for item in json.loads(capsys.readouterr().out)["items"]}
    assert findings["newest sample: none"] is False
    with served(db) as url:
        assert main(["doctor", "--url", url]) == 0
        assert "ok   store: answers" in capsys.readouterr().out
    assert main(["doctor", "--url", "http://127.0.0.1:1"]) == 4
    assert "BAD  http://127.0.0.1:1 does not answer" in capsys.readouterr().out


def test_the_shipped_objectives_have_no_fault(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["slo", "validate", str(OBJECTIVES)]) == 0
    assert "no fault" in capsys.readouterr().out
    assert main(["slo", "list", str(OBJECTIVES), "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["items"]


def test_every_fault_of_an_objective_file_is_told_with_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.yaml").write_text("apiVersion: openslo/v1\nkind: SLO\nmetadata: {}\nspec: {}\n")
    assert main(["slo", "validate", str(tmp_path)]) == 1
    assert "bad.yaml:" in capsys.readouterr().out


def test_exports_are_yaml_and_json_that_their_readers_take(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "rules"]) == 0
    assert yaml.safe_load(capsys.readouterr().out)["groups"]
    assert main(["export", "grafana", str(tmp_path / "g")]) == 0
    files = [Path(line) for line in capsys.readouterr().out.splitlines()]
    assert files and all(json.loads(file.read_text())["panels"] for file in files)


def test_serve_prints_its_settings_and_where_each_came_from(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SLOSCOPE_PORT", "1")
    assert main(["serve", "--sql-rows", "9", "--print-config"]) == 0
    shown = capsys.readouterr().out
    assert "# $SLOSCOPE_PORT" in shown and "# --sql-rows" in shown
    assert main(["serve", "--port", "many"]) == 2
    assert "--port: port: expected a whole number" in capsys.readouterr().err


def test_a_dashboard_address_is_checked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dashboard", "--listen", "here"]) == 2
    assert "HOST:PORT" in capsys.readouterr().err

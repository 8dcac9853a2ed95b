"""A short demo ends by itself, prints the four answers, and leaves a store of which the commands say the same."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from collector.cli.main import main
from collector.demo.processes import tool
from collector.demo.run import main_model

pytestmark = pytest.mark.e2e


def test_the_demo_prints_what_the_commands_say_of_its_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = [tool("sloscope"), "demo", "--once", "--seconds", "12", "--offset", "70", "-o", "json"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SLOSCOPE_")}
    ran = subprocess.run(
        [*command, "--dir", str(tmp_path / "demo")],
        capture_output=True,
        text=True,
        timeout=240,
        env=environment,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    printed = json.loads(ran.stdout)
    assert list(printed) == ["status", "explain", "forecast", "scale"]
    db = tmp_path / "demo" / "demo.duckdb"
    model = main_model(db)
    for name, arguments in {
        "status": [], "explain": ["--model", model], "forecast": ["--model", model], "scale": [],
    }.items():  # fmt: skip
        assert main([name, "--db", str(db), "-o", "json", *arguments]) in {0, 3}
        assert json.loads(capsys.readouterr().out) == printed[name], name
    assert not db.with_name("demo.duckdb.serving").exists()
    assert {row["model"] for row in printed["status"]["objectives"]} >= {"tiny-llama", "tiny-llama-direct"}
    assert main(["sql", "--db", str(db), "-o", "json", "select count(*) as n from engine_samples"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"][0]["n"] > 5

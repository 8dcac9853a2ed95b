"""`replay calibrate` and what `replay` says when it is given nothing to replay."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from collector.cli.main import main
from collector.cli.place import FilePlace
from collector.cli.replaying import reach, run_calibrate
from collector.cli.scaling import replay
from signals.errors import ConfigError
from tests.support.loopback import served
from tests.support.recordings import copy_of, session_store

MODEL = "tiny-llama"


def test_a_store_that_is_served_is_replayed_through_its_server(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    db = copy_of(session_store(), tmp_path)
    shown = []

    def run(*argv: str) -> None:
        assert main(["replay", *argv, "--days", "1", "--policies", "static-peak", "-o", "json"]) == 0
        shown.append(json.loads(capsys.readouterr().out))

    run("--db", str(session_store()))
    run("calibrate", "--db", str(session_store()))
    with served(db) as url:
        newest = FilePlace(session_store(), None).sql("select max(ts) as ts from engine_samples", 1)["rows"]
        assert isinstance(newest, list)
        run("--db", str(db))
        run("calibrate", "--db", str(db))
        monkeypatch.setenv("SLOSCOPE_DB", str(session_store()))
        run("--url", url, "--now", str(newest[0]["ts"]))
        run(str(_trace(tmp_path)))
        assert main(["replay", "--db", str(db), "--model", "tiny-lama"]) == 2
        assert "did you mean 'tiny-llama'?" in capsys.readouterr().err
    assert shown[2] == shown[0] and shown[3] == shown[1]
    assert shown[4]["model"] == MODEL and shown[5]["requests"] == 2


def _trace(folder: Path) -> Path:
    path = folder / "burst.csv"
    path.write_text("t_s,model,input_tokens,output_tokens\n0,m,5,6\n1,m,5,6\n")
    return path


def test_the_picture_stands_above_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["replay", str(_trace(tmp_path)), "--policies", "static-peak,knative"]
    assert main([*argv, "-o", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert main(argv) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(answer["picture"] + "\n")
    assert set(answer["front"]) <= {"static-peak", "knative"} and answer["front"]
    assert "good ratio" in printed[len(answer["picture"]) :]
    assert main([*argv, "-o", "csv"]) == 0
    assert capsys.readouterr().out.startswith("policy,")


def test_a_fit_needs_a_store() -> None:
    with pytest.raises(ConfigError, match="--db"):
        run_calibrate(None, 7.0, None)


def test_a_trace_that_is_no_file_is_named(tmp_path: Path) -> None:
    result = CliRunner().invoke(replay, [str(tmp_path / "none.parquet")])
    assert isinstance(result.exception, ConfigError)
    assert "none.parquet is no file" in str(result.exception)


def test_what_no_number_of_instances_can_keep_is_told_with_what_stands_in_for_the_target() -> None:
    aim = {"target": 0.99, "attainable_ratio": 0.8, "reachable_ratio": 0.7}
    (line,) = reach({"objective": aim})
    assert "80.0%" in line and "70.0%" in line
    assert reach({"objective": {**aim, "reachable_ratio": 0.99}}) == []

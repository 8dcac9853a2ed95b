"""The entry point turns what goes wrong into a sentence and an exit code, never into a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from collector.cli.main import main


def test_a_misspelt_command_suggests_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["statsu"]) == 2
    assert "no such command 'statsu'; did you mean 'status'?" in capsys.readouterr().err


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert main(["export", "grafana", str(tmp_path / "file" / "below")]) == 1
    told = capsys.readouterr().err
    assert "below: Not a directory" in told
    assert "Traceback" not in told


@pytest.mark.parametrize("value", ["abc", "-1"])
def test_a_planner_input_out_of_range_is_a_usage_error_that_names_it(
    value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", "autoscaling", "--set", f"requests_per_second={value}"]) == 2
    assert "requests_per_second" in capsys.readouterr().err

"""`replay calibrate` and what `replay` says when it is given nothing to replay."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from collector.cli.replaying import run_calibrate
from collector.cli.scaling import replay
from signals.errors import ConfigError


def test_a_fit_needs_a_store() -> None:
    with pytest.raises(ConfigError, match="--db"):
        run_calibrate(None, 7.0, None)


def test_a_trace_that_is_no_file_is_named(tmp_path: Path) -> None:
    result = CliRunner().invoke(replay, [str(tmp_path / "none.parquet")])
    assert isinstance(result.exception, ConfigError)
    assert "none.parquet is no file" in str(result.exception)

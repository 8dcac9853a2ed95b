"""Settings come from defaults, file, environment and flags in this order, and every fault is told."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from collector.config import CollectorConfig, load, reference
from signals.errors import ConfigError


def test_flags_beat_the_environment_beats_the_file_beats_the_default(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("port: 1\nlinger_seconds: 0.5\nsql_rows: 7\n")
    loaded = load({"port": 3, "db": None}, {"SLOSCOPE_PORT": "2", "SLOSCOPE_LINGER_SECONDS": "0.25"}, path)
    config = loaded.config
    assert (config.port, config.linger_seconds, config.sql_rows, config.db) == (3, 0.25, 7, "sloscope.duckdb")
    assert loaded.sources["port"] == "--port"
    assert loaded.sources["linger_seconds"] == "$SLOSCOPE_LINGER_SECONDS"
    assert loaded.sources["sql_rows"] == str(path)
    assert loaded.sources["db"] == "default"


def test_what_is_printed_can_be_read_back(tmp_path: Path) -> None:
    text = "\n".join(load({"port": 5}).lines())
    path = tmp_path / "c.yaml"
    path.write_text(text)
    assert load(path=path).config == CollectorConfig(port=5)
    assert yaml.safe_load(text)["port"] == 5


def test_every_fault_is_listed_with_the_nearest_key(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("prot: 1\nsql_rows: many\nlinger_seconds: -1\njobs: perhaps\ntls_cert: x\n")
    with pytest.raises(ConfigError) as caught:
        load(path=path)
    told = " ".join(caught.value.faults)
    assert len(caught.value.faults) == 5
    assert "did you mean 'port'" in told
    assert "whole number" in told
    assert "tls_cert and tls_key" in told


def test_other_addresses_than_loopback_need_tokens() -> None:
    with pytest.raises(ConfigError, match="binds loopback only"):
        load({"host": "0.0.0.0"})
    assert load({"host": "0.0.0.0", "tokens": "tokens.yaml"}).config.host == "0.0.0.0"


@pytest.mark.parametrize("content", ["[1, 2]", "a: [", "3"])
def test_a_file_that_is_no_mapping_is_told(tmp_path: Path, content: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(content)
    with pytest.raises(ConfigError):
        load(path=path)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        load(path=tmp_path / "none.yaml")


def test_every_setting_has_help() -> None:
    assert all(help_ for *_, help_ in reference())

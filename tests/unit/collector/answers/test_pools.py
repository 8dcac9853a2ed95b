"""pools.yaml is read strictly; every fault is named with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from collector.answers.pools import load_pools, read_pools
from signals.errors import ConfigError

GOOD = """
pools:
- name: chat-eu
  model: llama-3-70b
  region: eu
  gpu_type: H100
  gpus_per_instance: 4
  unit: 2
  min: 2
  max: 40
  usd_per_gpu_hour: {value: 2.5, since: 2026-01-01}
- {name: decode, model: moe, role: decode, partner: chat-eu, ratio: 0.5}
"""


def test_a_good_file_gives_its_pools() -> None:
    chat, decode = read_pools(GOOD)
    assert (chat.name, chat.unit, chat.price_since) == ("chat-eu", 2, "2026-01-01")
    assert chat.cost_per_hour(2) == 20.0
    assert (decode.role, decode.min, decode.cost_per_hour(1)) == ("decode", 1, None)


def test_the_day_of_a_price_may_stand_beside_it() -> None:
    (pool,) = read_pools("- {name: a, model: m, usd_per_gpu_hour: 2.5, since: 2026-01-01}")
    assert (pool.usd_per_gpu_hour, pool.price_since) == (2.5, "2026-01-01")


def test_all_faults_are_told_at_once_with_file_and_key() -> None:
    text = """
- {name: a, model: m, reigon: eu, min: -1, role: prefil}
- {model: m}
- {name: b, model: m, min: 5, max: 2}
- {name: b, model: m}
- 7
"""
    with pytest.raises(ConfigError) as caught:
        read_pools(text, "pools.yaml")
    faults = "\n".join(caught.value.faults)
    assert "pools.yaml:pools[0].reigon: unknown key; did you mean 'region'?" in faults
    assert "pools[0].min: expected a whole number from 0, got -1" in faults
    assert "pools[0].role: expected both, prefill or decode, got 'prefil'" in faults
    assert "pools[1].name: missing" in faults
    assert "pools[2].max: 2 is below min 5" in faults
    assert "pools[4]: expected a mapping" in faults


@pytest.mark.parametrize(
    "text", ["{", "7", "pool: []", "pools: 3", "pools: [{name: a, model: m, usd_per_gpu_hour: {x: 1}}]"]
)
def test_what_is_no_pools_file_is_an_error_not_a_trace(text: str) -> None:
    with pytest.raises(ConfigError):
        read_pools(text)


def test_a_name_used_twice_is_a_fault() -> None:
    with pytest.raises(ConfigError, match="used twice"):
        read_pools("[{name: a, model: m}, {name: a, model: n}]")


def test_bounds_are_whole_units() -> None:
    with pytest.raises(ConfigError, match="not a multiple of unit 18"):
        read_pools("[{name: a, model: m, unit: 18, min: 20}]")


def test_a_missing_file_is_a_configuration_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read"):
        load_pools(tmp_path / "none.yaml")

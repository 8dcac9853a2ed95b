"""Settings become inputs, whatever the way they are written, and every fault is named."""

from __future__ import annotations

import pytest

from analytics.planners import get
from analytics.planners.autoscaling import AutoscalingInputs
from analytics.planners.settings import inputs_from, plain_inputs
from analytics.planners.structured_output import StructuredOutputInputs
from signals.errors import ConfigError, InputError


def test_text_may_use_bars_where_commas_have_a_meaning() -> None:
    by_comma = inputs_from(StructuredOutputInputs, {"batches": "8,16", "mask_seconds_per_request": "a:1e-5,b:2e-5"})
    by_bar = inputs_from(StructuredOutputInputs, {"batches": "8|16", "mask_seconds_per_request": "a:1e-5|b:2e-5"})
    as_json = inputs_from(
        StructuredOutputInputs, {"batches": "[8, 16]", "mask_seconds_per_request": '{"a": 1e-5, "b": 2e-5}'}
    )
    assert by_comma == by_bar == as_json


def test_one_number_stands_for_a_list_of_one() -> None:
    assert plain_inputs(inputs_from(StructuredOutputInputs, {"batches": 64}))["batches"] == [64]


def test_all_faults_are_reported_together() -> None:
    with pytest.raises(InputError) as caught:
        inputs_from(AutoscalingInputs, {"requests_per_second": -1, "cold_start_seconds": "soon"})
    assert "requests_per_second" in caught.value.message
    assert "cold_start_seconds" in caught.value.message


def test_all_unknown_inputs_are_reported_together() -> None:
    with pytest.raises(ConfigError) as caught:
        inputs_from(AutoscalingInputs, {"request_per_second": 1, "cold_starts_seconds": 1})
    assert len(caught.value.faults) == 2
    assert "did you mean 'requests_per_second'" in caught.value.message


@pytest.mark.parametrize("value", ["1.5", 2.5, "many", True, [1], {"a": 1}])
def test_a_whole_number_is_not_read_from_anything_else(value: object) -> None:
    with pytest.raises(InputError, match="decode_unit_gpus"):
        get("moe_service").read({"decode_unit_gpus": value})  # type: ignore[dict-item]


def test_an_empty_list_is_refused() -> None:
    with pytest.raises(InputError, match="batches: empty"):
        inputs_from(StructuredOutputInputs, {"batches": ""})


def test_frozen_inputs_are_checked_too() -> None:
    with pytest.raises(InputError, match="requests_per_second"):
        get("autoscaling").plan(AutoscalingInputs(requests_per_second=float("inf")))

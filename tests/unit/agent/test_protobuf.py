"""The hand-written wire format against protobuf's own reader."""

from __future__ import annotations

import pytest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import NumberDataPoint

from agent.protobuf import Pattern, block, hole, key_values, text, varint


@pytest.mark.parametrize(("number", "wire"), [(0, "00"), (1, "01"), (127, "7f"), (128, "8001"), (300, "ac02")])
def test_varints_are_those_of_the_specification(number: int, wire: str) -> None:
    assert varint(number).hex() == wire


def test_a_key_value_reads_back_with_any_text() -> None:
    long = "ü" * 300
    message = KeyValue()
    message.ParseFromString(text(1, "a key") + block(2, text(1, long)))
    assert message == KeyValue(key="a key", value=AnyValue(string_value=long))


def test_a_pattern_is_filled_again_and_again_with_other_numbers() -> None:
    pattern = Pattern([*hole(3, "Q", 0), *hole(4, "d", 1), key_values(7, {"model": "m"})])
    for time, value in ((7, 1.5), (2**63, -0.25)):
        point = NumberDataPoint()
        point.ParseFromString(pattern.fill([time, value]))
        assert (point.time_unix_nano, point.as_double, point.attributes[0].key) == (time, value, "model")


def test_a_pattern_without_holes_is_its_literal() -> None:
    pattern = Pattern([b"abc", b"def"])
    assert pattern.fill([]) == b"abcdef"

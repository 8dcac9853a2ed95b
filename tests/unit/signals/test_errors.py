"""Every error says what is wrong, carries its data and knows how a command and a server answer with it."""

from __future__ import annotations

import pytest

from signals import errors
from signals.errors import ConfigError, SloscopeError, UnknownNameError


def every_error() -> list[type[SloscopeError]]:
    found = [SloscopeError]
    for parent in found:
        found.extend(error for error in parent.__subclasses__() if error.__module__ == errors.__name__)
    return found


@pytest.mark.parametrize("error", every_error(), ids=lambda error: error.__name__)
def test_every_error_has_an_exit_code_a_status_and_a_title(error: type[SloscopeError]) -> None:
    assert error.exit_code in {1, 2, 3, 4}
    assert 400 <= error.http_status < 600
    assert error.title
    assert error.__name__ in (errors.__doc__ or "") or error is SloscopeError


def test_an_unknown_name_offers_the_nearest() -> None:
    error = UnknownNameError("signal", "queue_dept", ["queue_depth", "running"])
    assert "queue_depth" in str(error)
    assert error.data["name"] == "queue_dept"


def test_a_configuration_error_lists_every_fault() -> None:
    error = ConfigError("agent.yaml is wrong", ["targets[0].url: missing", "interval: not a number"])
    assert len(error.faults) == 2
    assert "targets[0].url" in str(error)
    assert "interval" in str(error)


def test_data_of_an_error_is_kept_for_programs() -> None:
    assert SloscopeError("no", line=3, why="x").data == {"line": 3, "why": "x"}

"""Declared days are read from a file, and every fault in it is named."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from analytics.forecast import Event
from collector.answers.forecast_calendar import load_calendar
from signals.errors import ConfigError


def written(folder: Path, text: str) -> Path:
    path = folder / "calendar.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_days_are_read_with_what_they_resemble(tmp_path: Path) -> None:
    found = load_calendar(
        written(
            tmp_path,
            "events:\n"
            "  - {day: 2026-12-25, like: sunday, name: holiday}\n"
            "  - {day: 2026-03-12, factor: 1.5}\n"
            "  - {day: 2026-03-03, like: unusual}\n",
        )
    )
    assert found == (
        Event(date(2026, 12, 25), "sunday", 1.0, "holiday"),
        Event(date(2026, 3, 12), None, 1.5),
        Event(date(2026, 3, 3), "unusual"),
    )


def test_every_fault_is_named_with_its_place(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "events:\n"
        "  - {day: tomorrow}\n"
        "  - {day: 2026-12-25, like: someday}\n"
        "  - {day: 2026-12-25, factor: 0}\n"
        "  - {day: 2026-12-25, factr: 2}\n"
        "  - 2026-12-25\n"
        "  - {day: 2026-12-25, factor: yes, like: 3}\n",
    )
    with pytest.raises(ConfigError) as raised:
        load_calendar(path)
    said = "\n".join(raised.value.faults)
    assert "events[0]: day must be a date" in said
    assert "events[1]: like must be a weekday" in said
    assert "events[2]: factor must be above 0" in said
    assert "unknown key 'factr'; did you mean 'factor'?" in said
    assert "events[4]: expected keys" in said
    assert "events[5]: factor must be a number" in said
    assert "events[5]: like must be" in said


@pytest.mark.parametrize("text", ["[]", "events: 3", "", "events: [}"])
def test_a_file_that_is_no_calendar_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError):
        load_calendar(written(tmp_path, text))


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load_calendar(tmp_path / "none.yaml")

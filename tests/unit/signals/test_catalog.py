"""The catalog names every signal once, with a unit; what the documents say of signals and engines is not stale."""

from __future__ import annotations

from pathlib import Path

import pytest

from signals.catalog import COUNTER, GAUGE, HISTOGRAM, SAMPLE_COLUMNS, SIGNALS, kind_of, unit_of
from signals.catalogdoc import markdown
from signals.dialects.registry import DIALECTS
from signals.views.engines import ENGINE_SAMPLES

REFERENCE = Path(__file__).parents[3] / "docs" / "reference"
NOT_SIGNALS = {
    "ts", "interval_seconds", "instance", "model", "role", "engine", "engine_version", "model_version", "pool",
    "region", "scrape_state",
}  # fmt: skip


def test_every_measured_column_of_engine_samples_is_a_signal() -> None:
    assert set(ENGINE_SAMPLES.column_names()) - NOT_SIGNALS == set(SAMPLE_COLUMNS)


def test_every_signal_has_a_kind_a_unit_and_a_meaning() -> None:
    for signal in SIGNALS.values():
        assert signal.kind in {GAUGE, COUNTER, HISTOGRAM}
        assert signal.unit
        assert signal.help


@pytest.mark.parametrize(("ending", "unit"), [("_seconds", "s"), ("_ratio", "1"), ("_bytes", "By"), ("_usd", "USD")])
def test_names_carry_their_unit(ending: str, unit: str) -> None:
    assert {signal.unit for name, signal in SIGNALS.items() if name.endswith(ending)} == {unit}


def test_the_parts_of_a_histogram_are_counters_in_its_unit() -> None:
    assert (kind_of("train_step_seconds_sum"), unit_of("train_step_seconds_sum")) == (COUNTER, "s")
    assert (kind_of("train_step_seconds_count"), unit_of("train_step_seconds_count")) == (COUNTER, "1")
    assert kind_of("queue_depth_sum") is None


def test_a_signal_from_outside_has_no_unit() -> None:
    assert unit_of("something_else") == "1"


def test_the_signal_reference_is_what_the_catalog_says() -> None:
    page = (REFERENCE / "signals.md").read_text()
    assert page == markdown(), "run: python -m signals.catalogdoc > docs/reference/signals.md"


@pytest.mark.parametrize("engine", DIALECTS)
def test_the_engine_reference_has_a_section_with_the_paths(engine: str) -> None:
    page = (REFERENCE / "engines.md").read_text()
    _, _, section = page.partition(f"(`{engine}`)\n")
    section = section.partition("\n## ")[0]
    assert section, engine
    for path in DIALECTS[engine].paths[:1]:
        assert f"`{path}`" in section
    for path in DIALECTS[engine].never_get:
        assert f"never `{path}`" in section
    assert ("not tried against a running" in section.lower()) == (not DIALECTS[engine].tested)

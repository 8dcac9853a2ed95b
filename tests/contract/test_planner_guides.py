"""Every planner guide runs and says what comes out; every sender example is accepted and lands in the store."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from pathlib import Path

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from analytics.planners import get, names
from analytics.planners.observed import OBSERVERS
from analytics.planners.reference import reference_page
from analytics.planners.signals import SIGNALS
from collector.answers.plan import plan
from collector.receivers.metrics import MetricsReceiver
from collector.receivers.otlp_json import parse_json
from signals.catalog import SIGNALS as CATALOG

DOCS = Path(__file__).parents[2] / "docs"
GUIDES = sorted((DOCS / "how-to").glob("plan-*.md"))
REFERENCE = (DOCS / "reference" / "planner-signals.md").read_text(encoding="utf-8")
BODIES = re.findall(r"<<'JSON'\n(.*?)\nJSON", REFERENCE, re.DOTALL)
ROW = re.compile(r"^\| `([a-z0-9_. ]+)` \| ([^|]+) \| ([^|]+) \|$")


def _commands(text: str) -> list[tuple[str, dict[str, str], list[tuple[str, str, str]]]]:
    """Return each `sloscope plan` with its settings and the rows of the table that follows it."""
    found: list[tuple[str, dict[str, str], list[tuple[str, str, str]]]] = []
    for line in text.splitlines():
        if line.startswith("$ sloscope plan "):
            words = shlex.split(line)[3:]
            settings = dict(word.split("=", 1) for word in words[1:] if "=" in word)
            found.append((words[0], settings, []))
        elif found and (row := ROW.match(line)):
            found[-1][2].append((row[1], row[2].strip(), row[3].strip()))
    return found


RUNS = [(guide.stem, *command) for guide in GUIDES for command in _commands(guide.read_text(encoding="utf-8"))]


def test_every_planner_has_a_guide() -> None:
    assert {name for _, name, _, _ in RUNS} == set(names())


@pytest.mark.parametrize(("guide", "name", "settings", "rows"), RUNS, ids=[f"{run[0]}-{run[1]}" for run in RUNS])
def test_a_guides_command_runs_and_gives_its_figures(
    guide: str, name: str, settings: dict[str, str], rows: list[tuple[str, str, str]]
) -> None:
    made = get(name).plan(settings)
    assert plan(None, None, name, settings)["headline"] == made.headline
    units = {step.name: step.unit for step in made.steps}
    for path, shown, unit in rows:
        head, *keys = path.split(".")
        value = made.value(head)
        for key in keys:
            assert isinstance(value, Mapping), path
            value = value[key]
        assert units[head] == unit
        assert float(str(value)) == pytest.approx(float(shown.replace(",", "")), rel=1e-3), (guide, path)


@pytest.mark.parametrize("guide", GUIDES, ids=[guide.stem for guide in GUIDES])
def test_a_guide_speaks_of_steps_and_inputs_that_exist(guide: Path) -> None:
    text = guide.read_text(encoding="utf-8")
    known: set[str] = set()
    for name, settings, _ in _commands(text):
        made = get(name).plan(settings)
        known |= {step.name for step in made.steps} | {entry.name for entry in get(name).fields()}
        verdicts = {verdict.verdict for verdict in made.verdicts}
        for said in re.findall(r"verdict \*([^*]+)\*", text):
            assert re.sub(r"\s+", " ", said) in verdicts
    words = re.findall(r"`([a-z]+(?:_[a-z0-9]+)+)`", text)
    columns = {"grammar_cpu", "adapter_swap", "region_loss"}
    assert [word for word in words if word not in known | columns] == []


@pytest.mark.parametrize("signal", SIGNALS, ids=[signal.name for signal in SIGNALS])
def test_every_signal_is_documented_with_an_example(signal: object) -> None:
    name, unit, kind = (getattr(signal, field) for field in ("name", "unit", "kind"))
    assert f"| `{name}` | {kind} | `{unit}` |" in REFERENCE
    sent = {f"sloscope.{name}", f"sloscope.{name}_sum"}
    assert any(f'"name":"{each}"' in REFERENCE for each in sent)


def test_signals_name_planners_that_read_them() -> None:
    assert {planner for signal in SIGNALS for planner in signal.planners} <= set(OBSERVERS)
    assert len({signal.name for signal in SIGNALS}) == len(SIGNALS)


def test_signals_that_the_catalog_has_mean_the_same_there() -> None:
    for signal in SIGNALS:
        if signal.name in CATALOG:
            assert CATALOG[signal.name].kind == signal.kind, signal.name
            assert CATALOG[signal.name].unit == signal.unit, signal.name


@pytest.mark.parametrize("body", BODIES, ids=[str(place) for place in range(len(BODIES))])
def test_a_sender_example_is_accepted(body: str) -> None:
    message = parse_json(body.encode(), ExportMetricsServiceRequest)
    decoded = MetricsReceiver().decode(message, "example")
    assert decoded.rejected == 0
    assert len(decoded.batches) == 1
    sent = {metric["name"] for metric in json.loads(body)["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]}
    group = decoded.batches[0].increments[0]  # type: ignore[union-attr]
    kept = {f"sloscope.{signal}" for table in (group.gauges, group.counters) for signal, _ in table}
    assert kept == sent


def test_the_reference_of_planners_is_up_to_date() -> None:
    assert (DOCS / "reference" / "planners.md").read_text(encoding="utf-8") == reference_page()

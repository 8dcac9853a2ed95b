"""Writes the reference page of all planners as text; `docs/reference/planners.md` is this, and a test says when not."""

from __future__ import annotations

import sys

from analytics.planners.form import InputField
from analytics.planners.planner import Planner
from analytics.planners.registry import PLANNERS
from analytics.planners.settings import plain

__all__ = ["reference_page"]

_HEAD = """# Planners

Ten kinds of system, and what each needs. Made from the planners themselves; do not edit by hand:
`python -m analytics.planners.reference > docs/reference/planners.md`.

`sloscope plan NAME` plans from the assumed inputs below. `--set input=value` gives one; a list is `1,16,64`, a table is
`naive:0.0002,precompiled:0.00002`. With `--db` or `--url` every input that telemetry gives is measured, with an
interval made to hold the truth in 99 of 100 cases, and the plan is given both ways.
"""


def reference_page() -> str:
    """Return the page as Markdown."""
    return _HEAD + "".join(_section(planner) for planner in PLANNERS.values())


def _section(planner: Planner) -> str:
    inputs = "\n".join(_input_row(entry) for entry in planner.fields())
    steps = "\n".join(f"| `{step.name}` | {step.unit} | {_cell(step.because)} |" for step in planner.plan().steps)
    return f"""
## {planner.title}: `{planner.name}`

{planner.question}

| input | assumed | unit | range | meaning | from |
|---|---|---|---|---|---|
{inputs}

| step | unit | because |
|---|---|---|
{steps}
"""


def _input_row(entry: InputField) -> str:
    value = plain(entry.default)
    if isinstance(value, dict):
        shown = ", ".join(f"{key}: {each:g}" for key, each in value.items())
    elif isinstance(value, list):
        shown = ", ".join(f"{each:g}" for each in value)
    else:
        shown = f"{value:.6g}"
    bounds = f"{entry.low:g} to {entry.high:g}"
    return f"| `{entry.name}` | {shown} | {entry.unit} | {bounds} | {_cell(entry.help)} | {_cell(entry.source)} |"


def _cell(text: str) -> str:
    return text.replace("|", "/")


if __name__ == "__main__":
    sys.stdout.write(reference_page())

"""Reads what `replay` needs: arrivals from a trace or a store, a fleet, objectives; hands them to the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from collector.cli.recorded import Where, recorded_in
from collector.sqlguard.formats import plain
from signals.errors import ConfigError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from analytics.replay.scorecard import Objective


def run_replay(
    where: Where | None,
    days: float,
    model: str | None,
    fleet: Path | None,
    objectives: Path | None,
    policies: str,
    cold_start: float | None,
    trace: Path | None,
) -> dict[str, object]:
    """Return the scorecard of the policies. ConfigError when neither or both of trace and store are given."""
    from analytics.replay.scorecard import Fleet, Objective
    from analytics.scaling.policies import POLICIES
    from collector.answers.fleet import load_fleet, own_fleet
    from collector.answers.replay import USUAL, from_columns, recorded, replay

    if (where is None) == (trace is None):
        raise ConfigError("say what to replay: a TRACE file, or --db FILE (--url URL) with its own arrivals")
    named: dict[str, object] = {}
    fitted = Fleet()
    if trace is not None:
        load = from_columns(_trace(trace))
    else:
        assert where is not None
        with recorded_in(where) as (reader, now):
            named["model"], load = recorded(reader, now, days=days, model=model)
            if fleet is None:
                fitted, named["engine"] = own_fleet(reader, now, days=days, model=model)
    named_policies = [name.strip() for name in policies.split(",") if name.strip()]
    answer = replay(
        load,
        fleet=fitted if fleet is None else load_fleet(fleet),
        objective=_objective(objectives, Objective()),
        policies=tuple(POLICIES) if named_policies == ["all"] else named_policies or USUAL,
        cold_start_seconds=180.0 if cold_start is None else cold_start,
    )
    return {key: plain(value) for key, value in {**answer, **named}.items()}


def reach(answer: Mapping[str, object]) -> list[str]:
    """Return what the objective can be judged by where it cannot be kept whatever the number of instances."""
    aim = answer.get("objective")
    if not isinstance(aim, Mapping):
        return []
    target, alone, reachable = (aim.get(name) for name in ("target", "attainable_ratio", "reachable_ratio"))
    if not (isinstance(target, float) and isinstance(alone, float) and isinstance(reachable, float)):
        return []
    if reachable >= target * 0.999:
        return []
    told = (
        f"{alone:.1%} of these requests meet the objective alone on an instance; {reachable:.1%} is what policies are "
        f"judged by, not {target:.1%}: look at the longest prompts, or at the objective by length"
    )
    return [told]


def run_calibrate(where: Where | None, days: float, model: str | None) -> dict[str, object]:
    """Return the engine fitted to a store's samples, with predicted and measured TTFT of its own requests."""
    from collector.answers.replay import calibrate

    if where is None:
        raise ConfigError("say what to fit: --db FILE or --url URL")
    with recorded_in(where) as (reader, now):
        return {key: plain(value) for key, value in calibrate(reader, now, days=days, model=model).items()}


def _trace(path: Path) -> dict[str, npt.NDArray[np.generic]]:
    from collector.importer.tables import read_arrivals, read_table

    found = read_arrivals(path, None)
    table = read_table(path, "arrivals", None).table if found is None else found[0].table
    return {name: table.column(name).to_numpy() for name in table.column_names if name != "prefix_hashes"}


def _objective(folder: Path | None, default: Objective) -> Objective:
    """Return the TTFT and TPOT limits of the first objective that has them."""
    if folder is None:
        return default
    from collector.answers.objective_files import load_objectives

    for one in load_objectives(folder):
        limits = {limit.metric: limit.at_most_seconds for limit in one.thresholds}
        ttft, tpot = limits.get("ttft_seconds"), limits.get("tpot_seconds")
        if ttft is not None:
            return replace(
                default,
                ttft_seconds=ttft,
                target=one.target,
                tpot_seconds=default.tpot_seconds if tpot is None else tpot,
            )
    raise ConfigError(f"{folder}: no objective limits the time to first token")

"""Says how long the phases of start-ups took, from the intervals that engines tell; a phase not told of is left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from signals.startup import MARKS, phase_of

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Start:
    """One start of one instance: names as the engine gives them, with begin and end in seconds on one clock.

    `began` is the start of the process on that clock, NaN where nobody saw it.
    """

    names: Sequence[str]
    begin: Floats
    end: Floats
    began: float = float("nan")


def phases_of(start: Start) -> dict[str, float]:
    """Return the seconds of each phase of one start.

    Spans nest, and ranks work side by side: what counts is the time that at least one of them covers. Compiling happens
    inside the warm-up and is taken out of it. The process itself was up when the engine's first span began.
    """
    told = [phase_of(name) for name in start.names]
    found = {}
    for phase in {name for name in told if name is not None}:
        mine = np.array([name == phase for name in told])
        if phase == "warm_up":
            compiling = np.array([name == "compile" for name in told])
            found[phase] = covered(start, mine | compiling) - covered(start, compiling)
        else:
            found[phase] = covered(start, mine)
    marks = np.array([name in MARKS for name in start.names], dtype=bool)
    if "process_start" not in found and marks.any() and np.isfinite(start.began):
        first = float(start.begin[marks].min()) - start.began
        if first >= 0:
            found["process_start"] = first
    return found


def covered(start: Start, chosen: npt.NDArray[np.bool_]) -> float:
    """Return the seconds that the chosen intervals cover together."""
    order = np.argsort(start.begin[chosen], kind="stable")
    begin, end = start.begin[chosen][order], start.end[chosen][order]
    if len(begin) == 0:
        return 0.0
    before = np.concatenate([[-np.inf], np.maximum.accumulate(end)[:-1]])
    return float(np.maximum(end - np.maximum(begin, before), 0.0).sum())


def median_phases(starts: Sequence[Start]) -> Mapping[str, float]:
    """Return the median seconds of each phase over the starts that tell of it."""
    seen: dict[str, list[float]] = {}
    for start in starts:
        for phase, seconds in phases_of(start).items():
            seen.setdefault(phase, []).append(seconds)
    return {phase: float(np.median(seconds)) for phase, seconds in seen.items()}

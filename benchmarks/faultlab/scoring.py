"""Compares an explanation with what was broken: cause, segment and stage; keeps what confidence needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.faultlab.cases import Case
from benchmarks.faultlab.world import World


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one case went; a verdict of inconclusive or no change on a fault is a miss."""

    case: Case
    metric: str
    verdict: str
    top: str | None
    top_right: bool
    among_three: bool
    segment_right: bool
    stage: str | None
    stage_right: bool
    confidence: float
    features: tuple[float, ...]
    seconds: float
    segment: Mapping[str, str] | None
    wanted: Sequence[Mapping[str, str]]
    order: Sequence[str]


def grade(case: Case, world: World, answer: Mapping[str, object], seconds: float, stage: str | None) -> Outcome:
    """Grade an answer of `explain`; `stage` is the stage that grew most, by the raw records."""
    causes = answer["causes"]
    assert isinstance(causes, list)
    order = [cause["cause"] for cause in causes]
    told = answer["verdict"] == "explained"
    segment = causes[0]["segment"] if causes else None
    features = answer.get("features", ())
    assert isinstance(features, Sequence)
    return Outcome(
        case,
        world.metric,
        str(answer["verdict"]),
        order[0] if order else None,
        told and order[:1] == [case.fault],
        told and case.fault in order[:3],
        told and segment in world.segments,
        str(answer["stage"]),
        answer["stage"] == stage or (answer["stage"] in world.stages and len(world.stages) == 1),
        float(causes[0]["confidence"]) if causes else 0.0,
        tuple(features),
        seconds,
        segment,
        world.segments,
        order,
    )


def calibration_error(confidences: Sequence[float], right: Sequence[bool], bins: int = 10) -> float:
    """Return the expected calibration error over equal-width bins."""
    total = len(confidences)
    error = 0.0
    for number in range(bins):
        low, high = number / bins, (number + 1) / bins
        inside = [i for i, c in enumerate(confidences) if low <= c < high or (number == bins - 1 and c >= high)]
        if inside:
            mean = sum(confidences[i] for i in inside) / len(inside)
            share = sum(right[i] for i in inside) / len(inside)
            error += len(inside) / total * abs(mean - share)
    return error

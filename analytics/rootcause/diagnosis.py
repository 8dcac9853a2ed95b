"""Ranks the root causes of one incident and says how sure that is; everything it says is in the scene it was given."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from analytics.rootcause.causes import CAUSES
from analytics.rootcause.changelog import AlignedChange
from analytics.rootcause.confidence import Features, probability
from analytics.rootcause.form import Cause, Finding
from analytics.rootcause.scene import Scene

#: A cause below this strength is not told at all.
WEAKEST = 0.12
#: A look-alike at least this strong takes the cause that must lose to it down with it.
STRONG_RIVAL = 0.45
#: How much of its strength a cause keeps beside a strong rival that it must lose to.
BESIDE_RIVAL = 0.45
#: How much of its strength a cause keeps when most of the extra time is in a stage that it cannot cause.
WRONG_STAGE = 0.3
#: Below this confidence the verdict is "inconclusive".
SURE = 0.5
TOLD = 5
#: What can make drafts easier to accept: repeated text, wrong counts, another model; nothing that merely slows down.
CAN_RAISE = ("output_tail", "measurement_artefact", "release_regression")


@dataclass(frozen=True, slots=True)
class Ranked:
    """A cause with its finding, the `score` it ranks by and the `confidence` that it is the one."""

    cause: Cause
    finding: Finding
    score: float
    confidence: float
    change: AlignedChange | None


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The ranked causes; `verdict` explained or inconclusive; `missing` = signals that would settle it."""

    verdict: str
    stage: str | None
    change_kind: str | None
    causes: tuple[Ranked, ...]
    missing: tuple[str, ...]
    features: Features


def diagnose(scene: Scene, z: float) -> Diagnosis:
    """Weigh every cause against the scene; `z` is how significant the change was."""
    asked = [name for name in CAUSES if not scene.observations.rise or name in CAN_RAISE]
    findings = {name: CAUSES[name].weigh(scene) for name in asked}
    scores = _scores(scene, findings)
    order = sorted((name for name, score in scores.items() if score >= WEAKEST), key=lambda name: -scores[name])
    features = _features(scene, order, scores, findings, z)
    sure = probability(features) if order else 0.0
    ranked = tuple(
        Ranked(
            CAUSES[name],
            findings[name],
            scores[name],
            _confidence(sure, scores, order, place),
            _related(scene, CAUSES[name]),
        )
        for place, name in enumerate(order[:TOLD])
    )
    verdict = "explained" if ranked and ranked[0].confidence >= SURE else "inconclusive"
    stage = scene.stages.leading if scene.stages is not None else None
    return Diagnosis(
        verdict,
        stage,
        _kind(scene, ranked),
        ranked,
        _missing(findings, order, verdict == "inconclusive"),
        features,
    )


def _scores(scene: Scene, findings: dict[str, Finding]) -> dict[str, float]:
    """Return strengths after the stage and the look-alikes have had their say; unknown causes are left out."""
    raw = {
        name: found.strength * _of_stage(scene, CAUSES[name])
        for name, found in findings.items()
        if found.strength is not None
    }
    settled = dict(raw)
    for name, score in raw.items():
        if any(raw.get(rival, 0.0) >= max(STRONG_RIVAL, 0.6 * score) for rival in CAUSES[name].loses_to):
            settled[name] = score * BESIDE_RIVAL
    return settled


def _of_stage(scene: Scene, cause: Cause) -> float:
    """Return 1 where the cause can show in the leading stage, else less, by how much of the extra time it can cause."""
    stages = scene.stages
    if stages is None or stages.leading is None or stages.leading in cause.stages:
        return 1.0
    own = max(stages.share(stage) for stage in cause.stages)
    return WRONG_STAGE + (1.0 - WRONG_STAGE) * own / stages.share(stages.leading)


def _features(
    scene: Scene, order: list[str], scores: dict[str, float], findings: dict[str, Finding], z: float
) -> Features:
    top = scores[order[0]] if order else 0.0
    second = scores[order[1]] if len(order) > 1 else 0.0
    told = sum(1 for found in findings.values() if found.strength is not None)
    fit = scene.fit(findings[order[0]].segment) if order else 0.0
    change = max((c.weight * (1 - c.placebo) for c in scene.changes), default=0.0)
    rivals = CAUSES[order[0]].loses_to if order else ()
    blind = sum(1 for name in rivals if name in findings and findings[name].strength is None) / max(len(rivals), 1)
    return Features(top, second, z, fit, told / len(findings), change, blind)


def _confidence(sure: float, scores: dict[str, float], order: list[str], place: int) -> float:
    """Give the first its probability and share the rest among the others by score; none is likelier than the first."""
    if place == 0:
        return sure
    score, rest = scores[order[place]], sum(scores[name] for name in order[1:])
    return min((1 - sure) * score / max(rest + 0.3, 1e-9), sure * score / scores[order[0]])


def _related(scene: Scene, cause: Cause) -> AlignedChange | None:
    """Return the best-aligned change, the kind that the cause speaks of first."""
    wanted = {"release_regression": "release", "config_regression": "config", "routing_hotspot": "routing"}.get(
        cause.id
    )
    near = [change for change in scene.changes if change.weight >= 0.1]
    fitting = [change for change in near if change.kind == wanted]
    return next(iter(fitting or near), None)


def _kind(scene: Scene, ranked: Iterable[Ranked]) -> str | None:
    first = next(iter(ranked), None)
    if first is not None:
        return first.cause.kind
    mixture = scene.mixture
    return "traffic" if mixture.mix_share > 0.5 else "serving"


def _missing(findings: dict[str, Finding], order: list[str], inconclusive: bool) -> tuple[str, ...]:
    """Return what was not recorded: of the causes that rank and, when nothing is sure, of all that could not tell."""
    names: dict[str, None] = {}
    for name in order[:3]:
        names.update(dict.fromkeys(findings[name].missing))
    if inconclusive:
        for found in findings.values():
            if found.strength is None:
                names.update(dict.fromkeys(found.missing))
    return tuple(names)

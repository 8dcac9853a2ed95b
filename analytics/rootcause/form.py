"""The form that every root cause has: what it needs, how it weighs a scene, what it must lose to, what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from math import isfinite

from analytics.rootcause.scene import Scene
from analytics.rootcause.shift import Shift

#: A clause that holds less than this speaks against its cause.
SPEAKS_AGAINST = 0.25
#: A clause that holds more than this is told as evidence.
SPEAKS_FOR = 0.5


@dataclass(frozen=True, slots=True)
class Evidence:
    """One figure before and during, and what it means; `low` and `high` are the extremes during, where sampled."""

    signal: str
    before: float | str | None
    during: float | str | None
    why: str
    low: float | None = None
    high: float | None = None

    def as_json(self) -> dict[str, object]:
        found: dict[str, object] = {
            "signal": self.signal,
            "before": _plain(self.before),
            "during": _plain(self.during),
            "why": self.why,
        }
        if self.low is not None and self.high is not None:
            found["range"] = [_plain(self.low), _plain(self.high)]
        return found


@dataclass(frozen=True, slots=True)
class Clause:
    """One thing that a cause expects: `holds` 0..1, or None where it cannot be told.

    A `gate` multiplies (without it the cause is not there); other clauses are averaged by weight.
    """

    signal: str
    holds: float | None
    weight: float = 1.0
    evidence: Evidence | None = None
    gate: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """How strongly a cause is supported, 0..1; None = cannot tell, and `missing` says for want of what."""

    strength: float | None
    segment: dict[str, str] = field(default_factory=dict)
    evidence: tuple[Evidence, ...] = ()
    contra: tuple[Evidence, ...] = ()
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Cause:
    """A root cause: `kind` is traffic, serving or capacity; `stages` where it shows; `loses_to` look-alikes."""

    id: str
    title: str
    kind: str
    needs: tuple[str, ...]
    stages: tuple[str, ...]
    loses_to: tuple[str, ...]
    next_step: str
    fix: str
    weigh: Callable[[Scene], Finding]


def judge(segment: Mapping[str, str], clauses: Iterable[Clause]) -> Finding:
    """Combine clauses: product of the gates times the weighted mean of the rest; an unknown gate = cannot tell."""
    told = list(clauses)
    missing = tuple(dict.fromkeys(clause.signal for clause in told if clause.holds is None))
    gates = [clause for clause in told if clause.gate]
    evidence, contra = _spoken(told)
    if any(gate.holds is None for gate in gates):
        return Finding(None, dict(segment), evidence, contra, missing)
    strength = 1.0
    for gate in gates:
        strength *= gate.holds or 0.0
    rest = [clause for clause in told if not clause.gate and clause.holds is not None]
    weight = sum(clause.weight for clause in rest)
    if weight > 0:
        strength *= sum(clause.weight * (clause.holds or 0.0) for clause in rest) / weight
    return Finding(strength, dict(segment), evidence, contra, missing)


def cannot_tell(*missing: str) -> Finding:
    """Return the finding of a cause whose signals were not recorded."""
    return Finding(None, missing=missing)


def ramp(value: float | None, low: float, high: float) -> float | None:
    """Map low..high to 0..1 (either order); None and NaN stay unknown, infinities saturate.

    >>> ramp(1.5, 1.0, 2.0), ramp(0.2, 0.5, 0.1), ramp(None, 0, 1)
    (0.5, 0.75, None)
    """
    if value is None or value != value:
        return None
    if not isfinite(value):
        return 1.0 if (value > 0) == (high > low) else 0.0
    return min(max((value - low) / (high - low), 0.0), 1.0)


def hint(value: float | None) -> float | None:
    """Count a sign that speaks for a cause and forget a faint or absent one: a cause may leave it, but need not.

    A sign never counts in part, or a faint one would weaken a cause that none leaves as strong as it is.
    """
    return None if value is None or value < SPEAKS_FOR else 1.0


def rose(shift: Shift | None, low: float, high: float) -> float | None:
    """Say how far a ratio during ÷ before has risen from `low` to `high`."""
    return None if shift is None else ramp(shift.ratio, low, high)


def steady(shift: Shift | None, low: float, high: float) -> float | None:
    """Say how far a signal did not rise: 1 below `low`, 0 above `high`."""
    return None if shift is None else ramp(shift.ratio, high, low)


def told(shift: Shift | None, why: str, signal: str | None = None) -> Evidence | None:
    """Turn a shift into evidence."""
    if shift is None:
        return None
    bounded = isfinite(shift.low) and isfinite(shift.peak)
    return Evidence(
        signal or shift.signal,
        shift.before,
        shift.during,
        why,
        shift.low if bounded else None,
        shift.peak if bounded else None,
    )


def peaked(shift: Shift | None, why: str) -> Evidence | None:
    """Turn a shift into evidence that tells the highest value during instead of the mean."""
    if shift is None:
        return None
    return Evidence(shift.signal, shift.before, shift.peak, why, shift.low, shift.peak)


def _spoken(clauses: list[Clause]) -> tuple[tuple[Evidence, ...], tuple[Evidence, ...]]:
    for_it = [c for c in clauses if c.evidence is not None and c.holds is not None and c.holds >= SPEAKS_FOR]
    against = [c for c in clauses if c.evidence is not None and c.holds is not None and c.holds < SPEAKS_AGAINST]
    for_it.sort(key=lambda clause: (-int(clause.gate), -clause.weight))
    return (
        tuple(clause.evidence for clause in for_it if clause.evidence is not None),
        tuple(clause.evidence for clause in against if clause.evidence is not None),
    )


def _plain(value: float | str | None) -> float | str | None:
    """Round for reading; not a number and infinity have no place in JSON."""
    if value is None or isinstance(value, str):
        return value
    return float(f"{value:.6g}") if isfinite(value) else None

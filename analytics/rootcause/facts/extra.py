"""Finds extra signals by what their name says; a signal that nobody exports is not found, and that is no denial."""

from __future__ import annotations

from collections.abc import Iterable

from analytics.rootcause.scene import Scene
from analytics.rootcause.shift import Shift


def about(scene: Scene, words: Iterable[str], but_not: Iterable[str] = ()) -> list[tuple[str, Shift]]:
    """Return (source, shift) of the extra signals whose name holds one of `words`, steepest rise first.

    A source is `signal` over all instances, or `signal|instance`.
    """
    wanted, unwanted = tuple(words), tuple(but_not)
    found = []
    for source in scene.signals.sources:
        name = source.split("|")[0]
        if any(word in name for word in wanted) and not any(word in name for word in unwanted):
            shift = scene.signals.shift("value", source)
            if shift is not None:
                found.append((source, Shift(name, shift.before, shift.during, shift.spread, shift.low, shift.peak)))
    return sorted(found, key=lambda item: -item[1].ratio if item[1].before > 0 else -item[1].rise)


def steepest(scene: Scene, words: Iterable[str], but_not: Iterable[str] = ()) -> Shift | None:
    """Return the fleet-wide shift that rose most among signals about `words`, None where there is none."""
    found = [shift for source, shift in about(scene, words, but_not) if "|" not in source]
    return found[0] if found else None

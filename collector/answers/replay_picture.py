"""Draws a scorecard as text: good ratio against GPU-hours, a letter for each policy, capitals on the front."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import ceil, floor, isfinite, log10
from string import ascii_lowercase

from analytics.replay.outcome import Outcome

__all__ = ["LEAST_BAD", "ORACLE", "TINY_HOURS", "frontier_picture", "nines"]

WIDTH, HEIGHT = 64, 14
#: Fewer bad requests than one in a million are drawn as these.
LEAST_BAD = 1e-6
#: Fewer GPU-hours than this (four seconds of one GPU) are drawn as these.
TINY_HOURS = 0.001
#: The plan that knows the future is a bound, not a policy that could be run: it is drawn and is on no front.
ORACLE = "oracle"
_MARGIN = 10


def frontier_picture(outcomes: Sequence[Outcome], front: Collection[str], target: float, requests: int) -> str:
    """Return the picture with its legend; "" where there is nothing to draw.

    Both axes are logarithmic: the level one in GPU-hours, the upright one in the share of bad requests (99 % lies as
    far from 90 % as from 99.9 %). None bad among `requests` is drawn as half a request, the objective as a dotted line.
    """
    known = [one for one in outcomes if isfinite(one.good_ratio) and isfinite(one.gpu_hours)][: len(ascii_lowercase)]
    if not known:
        return ""
    least = max(0.5 / max(requests, 1), LEAST_BAD)
    heights = [nines(one.good_ratio, least) for one in known]
    line = nines(target, least)
    bottom, top = floor(min(*heights, line)), max(ceil(max(*heights, line)), floor(min(*heights, line)) + 1)
    hours = [max(one.gpu_hours, TINY_HOURS) for one in known]
    fewest, most = min(hours), max(hours)
    width = log10(most / fewest) or 1.0
    cells = [[" "] * WIDTH for _ in range(HEIGHT)]

    def row(height: float) -> int:
        return round((top - height) / (top - bottom) * (HEIGHT - 1))

    cells[row(line)] = ["·"] * WIDTH
    letters = iter(letter for letter in ascii_lowercase if letter != "o")
    legend = []
    digits = min(max(2, top - 1), 4)
    for one, height, cost in zip(known, heights, hours, strict=True):
        small = "o" if one.policy == ORACLE else next(letters)
        sign = small.upper() if one.policy in front else small
        _put(cells[row(height)], round(log10(cost / fewest) / width * (WIDTH - 1)), sign)
        legend.append(f"{sign} {one.policy}: {one.good_ratio:.{digits}%} good, {one.gpu_hours:.4g} GPU-hours")
    labels = {row(float(nines)): f"{1 - 10.0**-nines:.{max(nines - 2, 0)}%}" for nines in range(bottom, top + 1)}
    drawn = [f"{labels.get(k, ''):>{_MARGIN - 2}} │{''.join(line).rstrip()}" for k, line in enumerate(cells)]
    axis = f"{'':>{_MARGIN - 2}} └{'─' * WIDTH}"
    ends = f"{fewest:.4g}", f"{most:.4g} GPU-hours"
    scale = f"{'':>{_MARGIN}}{ends[0]}{ends[1]:>{WIDTH - len(ends[0])}}"
    head = f"good requests against GPU-hours; dotted: the objective, {target:.4g}; capitals: no other policy beats them"
    return "\n".join([head, *drawn, axis, scale, *legend])


def nines(good_ratio: float, least: float) -> float:
    """Return the nines of a ratio: 0.9 has one, 0.99 two."""
    return -log10(min(max(1 - good_ratio, least), 1.0))


def _put(cells: list[str], place: int, sign: str) -> None:
    """Set the sign in the cell, or in the nearest free one."""
    order = sorted(range(len(cells)), key=lambda k: (abs(k - place), k))
    cells[next(k for k in order if not cells[k].isalpha())] = sign

"""Draws a scorecard as an SVG file: good ratio against GPU-hours, the front as a line; reads no store."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, floor, log10
from xml.sax.saxutils import escape

from collector.answers.replay_picture import LEAST_BAD, ORACLE, TINY_HOURS, nines

__all__ = ["frontier_svg"]

WIDTH, HEIGHT = 860, 520
LEFT, RIGHT, TOP, BOTTOM = 80, 190, 40, 60
#: Two labels nearer than this in pixels would cover each other: the lower one moves down.
LINE = 15
FONT = "sans-serif"
INK, FAINT, ACCENT, OTHER = "#222", "#ddd", "#0b7285", "#868e96"


def frontier_svg(answer: Mapping[str, object]) -> str:
    """Return the picture of a replay's answer with the axes of the text picture; no policy with figures, no marks.

    Filled marks joined by a line are the Pareto front; the oracle is a hollow square, as it cannot be run.
    """
    rows, front, objective = answer["rows"], answer["front"], answer["objective"]
    assert isinstance(rows, list) and isinstance(front, list) and isinstance(objective, Mapping)
    requests, target = answer["requests"], objective["target"]
    assert isinstance(requests, int) and isinstance(target, float)
    least = max(0.5 / max(requests, 1), LEAST_BAD)
    marks = [
        (str(row["policy"]), max(float(row["gpu_hours"]), TINY_HOURS), nines(float(row["good_ratio"]), least))
        for row in rows
        if row["gpu_hours"] is not None and row["good_ratio"] is not None
    ]
    line = nines(target, least)
    heights = [height for _, _, height in marks]
    low, high = floor(min([line, *heights])), max(ceil(max([line, *heights])), floor(min([line, *heights])) + 1)
    hours = [cost for _, cost, _ in marks] or [1.0]
    first, last = log10(min(hours)) - 0.02, log10(max(hours)) + 0.02

    def x(cost: float) -> float:
        return LEFT + (log10(cost) - first) / (last - first) * (WIDTH - LEFT - RIGHT)

    def y(height: float) -> float:
        return TOP + (high - height) / (high - low) * (HEIGHT - TOP - BOTTOM)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="{FONT}" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        _text(LEFT, TOP - 18, f"Good requests against GPU-hours; dashed: the objective, {target:.4g}", INK, "start"),
    ]
    for whole in range(low, high + 1):
        label = f"{1 - 10.0**-whole:.{max(whole - 2, 0)}%}"
        parts.append(_line(LEFT, y(whole), WIDTH - RIGHT, y(whole), FAINT))
        parts.append(_text(LEFT - 8, y(whole) + 4, label, INK, "end"))
    parts.append(_line(LEFT, y(line), WIDTH - RIGHT, y(line), INK, dashed=True))
    ticks = _ticks(min(hours), max(hours))
    parts += [_text(x(cost), HEIGHT - BOTTOM + 20, f"{cost:.4g}", INK, "middle") for cost in ticks]
    parts.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 15, "GPU-hours", INK, "middle"))
    best = sorted((cost, height) for name, cost, height in marks if name in front)
    if len(best) > 1:
        points = " ".join(f"{x(cost):.1f},{y(height):.1f}" for cost, height in best)
        parts.append(f'<polyline points="{points}" fill="none" stroke="{ACCENT}"/>')
    taken: list[tuple[float, float]] = []
    for name, cost, height in sorted(marks, key=lambda mark: (-mark[2], mark[1])):
        at, up = x(cost), y(height)
        if name == ORACLE:
            parts.append(f'<rect x="{at - 5:.1f}" y="{up - 5:.1f}" width="10" height="10" fill="#fff" stroke="{INK}"/>')
        else:
            filled = ACCENT if name in front else "#fff"
            edge = ACCENT if name in front else OTHER
            parts.append(f'<circle cx="{at:.1f}" cy="{up:.1f}" r="5" fill="{filled}" stroke="{edge}"/>')
        beside = up + 4
        while any(abs(beside - other) < LINE and abs(at - there) < RIGHT - 30 for there, other in taken):
            beside += LINE
        taken.append((at, beside))
        parts.append(_text(at + 9, beside, name, ACCENT if name in front else INK, "start"))
    return "\n".join([*parts, "</svg>", ""])


def _ticks(least: float, most: float) -> list[float]:
    """Return 1, 2 and 5 times the powers of ten between the ends, and the ends where there are fewer than two."""
    steps = [base * 10.0**power for power in range(-4, 9) for base in (1, 2, 5)]
    inside = [step for step in steps if least <= step <= most]
    return inside if len(inside) > 1 else sorted({least, most})


def _text(x: float, y: float, words: str, fill: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{fill}" text-anchor="{anchor}">{escape(words)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, stroke: str, dashed: bool = False) -> str:
    dash = ' stroke-dasharray="6 4"' if dashed else ""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{stroke}"{dash}/>'

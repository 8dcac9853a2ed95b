"""Fits an engine's step time to recorded samples; says how well it fits, never tunes to request latencies.

While an engine never idles, the seconds between two samples are the sum of its steps:
seconds = steps x base + computed prompt tokens x a + generated tokens x b + steps x KV tokens held x c.
Non-negative least squares over such samples gives the four costs. What remains is the host's pace: how many times
slower than fitted it was at each moment. Only public columns of `engine_samples` are needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from analytics.replay.engine import Engine
from signals.errors import NotEnoughDataError

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
NEEDED = ("interval_seconds", "steps", "prompt_tokens", "generation_tokens", "running")
#: Samples between which the engine never idled that a fit needs.
ENOUGH_SAMPLES = 8
#: A host is not believed to be slower or faster than this against the fit.
PACE_BOUNDS = (0.02, 50.0)
#: The pace is the mean over this many samples: a step that spans a scrape must not look like a stall.
PACE_SAMPLES = 5


@dataclass(frozen=True, slots=True)
class Calibration:
    """The fitted engine, the samples behind it, and the median relative error of their seconds.

    `pace_at` are seconds from the first sample, `pace` the factor on every step's time there.
    """

    engine: Engine
    samples: int
    median_error: float
    pace_at: Floats
    pace: Floats

    def pace_track(self, start_seconds: float, length_seconds: float, step_seconds: float) -> Floats:
        """Return the pace on an even grid from `start_seconds` on; the speed between samples is interpolated."""
        grid = start_seconds + np.arange(max(1, int(np.ceil(length_seconds / step_seconds)))) * step_seconds
        speed: Floats = np.interp(grid, self.pace_at, 1 / self.pace)
        return 1 / speed


def calibrate(
    samples: Mapping[str, Floats],
    *,
    seats: int,
    kv_tokens: int,
    token_budget: int = 2048,
    block_tokens: int = 16,
    chosen: Mask | None = None,
) -> Calibration:
    """Fit one instance's samples in order of time; `chosen` leaves samples out (for a held-out part).

    Raises NotEnoughDataError where a column is missing or the engine was never busy for long enough.
    """
    missing = [name for name in NEEDED if name not in samples or not np.isfinite(samples[name]).any()]
    if missing:
        raise NotEnoughDataError(f"calibration needs {', '.join(missing)} in engine_samples", missing=missing)
    use = np.ones(len(samples["steps"]), dtype=bool) if chosen is None else chosen
    seconds = samples["interval_seconds"]
    design = _design(samples, kv_tokens)
    running = samples["running"]
    before = np.concatenate([[0.0], running[:-1]])
    usable = use & np.isfinite(design).all(axis=1) & (seconds > 0)
    busy = usable & (running >= 1) & (before >= 1)
    fitted = busy & (samples["steps"] >= 1)
    if fitted.sum() < ENOUGH_SAMPLES:
        raise NotEnoughDataError(
            f"calibration needs {ENOUGH_SAMPLES} samples between which the engine never idled, found {fitted.sum()}",
            samples=int(fitted.sum()),
        )
    costs = _costs(design[fitted], seconds[fitted])
    work = np.nan_to_num(design) @ costs
    # An idle moment hides how fast the rest was, unless even that was more than the fit gives room for.
    shown = busy | (usable & (work > seconds))
    at, pace = _pace(shown, work, seconds)
    sequence_steps = float((samples["steps"] * 0.5 * (running + before))[fitted].sum())
    gain = float(samples["generation_tokens"][fitted].sum()) / sequence_steps if sequence_steps > 0 else 1.0
    engine = replace(
        Engine(),
        base_seconds=max(float(costs[0]), 1e-5),
        per_prefill_token_seconds=float(costs[1]),
        per_sequence_seconds=float(costs[2]),
        per_kv_token_seconds=float(costs[3]),
        per_attention_seconds=0.0,
        token_budget=token_budget,
        seats=seats,
        kv_tokens=kv_tokens,
        block_tokens=block_tokens,
        tokens_per_step=max(1.0, gain),
    )
    error = float(np.median(np.abs(work[fitted] / seconds[fitted] - 1)))
    return Calibration(engine, int(fitted.sum()), error, at, pace)


def _design(samples: Mapping[str, Floats], kv_tokens: int) -> Floats:
    """Return one row per sample: steps, computed prompt tokens, generated tokens, steps x KV tokens held."""
    steps = samples["steps"]
    nothing = np.zeros(len(steps))
    hits = np.nan_to_num(samples.get("prefix_hit_tokens", nothing))
    held = np.nan_to_num(samples.get("kv_usage_ratio", nothing)) * kv_tokens
    computed = np.maximum(samples["prompt_tokens"] - hits, 0.0)
    return np.column_stack([steps, computed, samples["generation_tokens"], steps * held])


def _pace(shown: Mask, work: Floats, seconds: Floats) -> tuple[Floats, Floats]:
    """Return where the pace is known, and the pace: measured over fitted seconds of the neighbouring samples."""
    window = np.ones(PACE_SAMPLES)
    fitted = np.convolve(np.where(shown, work, 0.0), window, "same")
    measured = np.convolve(np.where(shown, np.nan_to_num(seconds), 0.0), window, "same")
    clock = np.cumsum(np.nan_to_num(seconds))
    known = shown & (measured > 0)
    pace = np.clip(measured[known] / np.maximum(fitted[known], 1e-9), *PACE_BOUNDS)
    return clock[known] - 0.5 * np.nan_to_num(seconds)[known], pace


def _costs(columns: Floats, seconds: Floats) -> Floats:
    """Non-negative least squares by coordinate descent.

    Each step adds its own noise, so a sample's variance grows with its steps: samples are weighted by 1 / steps,
    which keeps the total of the predicted seconds equal to the total measured.
    """
    weight = 1 / np.sqrt(columns[:, :1])
    design = columns * weight
    scale = np.sqrt((design**2).mean(axis=0))
    active = scale > 0
    scaled = design[:, active] / scale[active]
    found = np.zeros(int(active.sum()))
    gram, aim = scaled.T @ scaled, scaled.T @ (seconds * weight[:, 0])
    for _ in range(5000):
        before = found.copy()
        for j in range(len(found)):
            rest = aim[j] - gram[j] @ found + gram[j, j] * found[j]
            found[j] = max(0.0, rest / gram[j, j])
        if np.abs(found - before).max() < 1e-12:
            break
    costs = np.zeros(4)
    costs[active] = found / scale[active]
    return costs

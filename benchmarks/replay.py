"""Measures the replay: a day of 3 M requests on one core, and predicted against measured TTFT on recorded runs.

The recorded engine shared its two cores with other work, so its step times drift by more than tenfold within a minute
and the pace of the held-out part can only be interpolated. Held out are alternate blocks of 10 seconds: the samples of
a block are left out of fit and pace, and its requests (by first token) are predicted from the other blocks, in two
folds that swap. `--blocks N` changes the length; the table shows how the error grows with it.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from analytics.replay import Arrivals, Engine, Simulator, arrivals, calibrate
from benchmarks.fleet.recording import Recording, recording
from benchmarks.report import Row, write

Floats = npt.NDArray[np.float64]

PAYLOADS = Path(__file__).resolve().parents[1].parent / "shared" / "payloads"
RUNS = ("vllm-live",)
BLOCK_SECONDS = 10.0
STEP_SECONDS = 2.0


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=float, default=BLOCK_SECONDS, help="seconds of a held-out block")
    block: float = parser.parse_args(argv).blocks
    rows = [_speed()]
    for name in RUNS:
        if not (PAYLOADS / name / "client.jsonl").is_file():
            print(f"{name}: no clients' truth recorded, left out")
            continue
        run = recording(PAYLOADS / name)
        everything = np.ones(len(run.clock), dtype=bool)
        predicted, queue = _predict(run, everything)
        _show(f"{name}, whole run", run.ttft, predicted)
        print(f"  queue: measured at most {np.nanmax(run.queue):.0f}, predicted {queue.max():.0f}")
        suffix = "" if name == RUNS[0] else f" {name}"
        rows += [Row(f"ttft_{q}_error_whole_run{suffix}", e, "") for q, e in _errors(run.ttft, predicted).items()]
        rows.append(Row(f"queue_max_error_whole_run{suffix}", abs(queue.max() / np.nanmax(run.queue) - 1), ""))
        for length in dict.fromkeys((block, 6.0, 20.0)):
            held = _held_out(run, length)
            _show(f"{name}, held-out blocks of {length:.0f} s", run.ttft, held)
            if length == block and name == RUNS[0]:
                rows += [Row(f"ttft_{q}_error_heldout_part", e, "") for q, e in _errors(run.ttft, held).items()]
            else:
                rows += [
                    Row(f"ttft_{q}_error_heldout_{length:.0f}s{suffix}", e, "")
                    for q, e in _errors(run.ttft, held).items()
                ]
    write("replay", rows)
    return 0


def _speed() -> Row:
    """Time one simulated day: 3 M requests, lengths log-normal around 900 in and 190 out, swinging by the hour."""
    generator = np.random.default_rng(1)
    count = 3_000_000
    hour = generator.choice(24, count, p=(w := 1 + 0.5 * np.sin(np.arange(24) / 24 * 2 * np.pi)) / w.sum())
    seconds = np.sort((hour + generator.random(count)) * 3600)
    prompt = np.minimum(generator.lognormal(6.5, 0.8, count), 30_000).astype(np.int64) + 1
    output = np.minimum(generator.lognormal(5.0, 0.7, count), 4_000).astype(np.int64) + 1
    load = arrivals(seconds, prompt, output)
    Simulator(arrivals(seconds[:10], prompt[:10], output[:10]), Engine(), 2, 8).finish()  # compiles
    simulator = Simulator(load, Engine(), 8, 8)
    begun = time.process_time()
    for minute in range(1, 1441):
        simulator.advance(60.0 * minute)
        simulator.reading()
    simulator.finish()
    took = time.process_time() - begun
    ttft = simulator.ttft_seconds()
    p50, p99 = _quantiles(ttft)
    print(f"3 M requests: {took:.1f} CPU-s, TTFT P50 {p50:.3f} s, P99 {p99:.3f} s")
    return Row("day_of_3m_requests_seconds", took, "s")


def _predict(run: Recording, chosen: npt.NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return predicted TTFT of every request and the queue at every sample, fitted to the chosen samples."""
    found = calibrate(run.samples, seats=run.seats, kv_tokens=run.kv_tokens, chosen=chosen)
    load: Arrivals = arrivals(run.sent, run.input_tokens, run.steps, run.cached)
    start, length = float(run.sent.min()), float(run.clock.max()) + 60
    engine = Engine(**{**{n: getattr(found.engine, n) for n in Engine.__dataclass_fields__}, "tokens_per_step": 1.0})
    pace = found.pace_track(start, length, STEP_SECONDS)
    simulator = Simulator(load, engine, 1, 1, pace=pace, pace_step_seconds=STEP_SECONDS)
    queue = []
    for moment in run.clock:
        if moment > start:
            simulator.advance(float(moment) - start)
            queue.append(simulator.reading().queue)
    simulator.finish()
    return simulator.ttft_seconds(), np.array(queue)


def _held_out(run: Recording, length: float) -> Floats:
    """Predict each request by the fit that did not see the block of its first token."""
    out = np.full(len(run.ttft), np.nan)
    for fold in (0, 1):
        predicted, _ = _predict(run, (run.clock // length) % 2 == fold)
        mine = ((run.sent + run.ttft) // length) % 2 != fold
        out[mine] = predicted[mine]
    return out


def _quantiles(values: Floats) -> tuple[float, float]:
    p50, p99 = np.quantile(values[np.isfinite(values)], (0.5, 0.99), method="inverted_cdf")
    return float(p50), float(p99)


def _errors(measured: Floats, predicted: Floats) -> dict[str, float]:
    names = ("p50", "p99")
    pairs = zip(names, _quantiles(predicted), _quantiles(measured), strict=True)
    return {name: abs(mine / truth - 1) for name, mine, truth in pairs}


def _show(what: str, measured: Floats, predicted: Floats) -> None:
    print(f"{what}: TTFT P50, P99 measured {json.dumps([round(v, 3) for v in _quantiles(measured)])}", end=" ")
    print(f"predicted {json.dumps([round(v, 3) for v in _quantiles(predicted)])}", flush=True)


if __name__ == "__main__":
    sys.exit(main())

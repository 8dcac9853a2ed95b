"""How good the forecasts are on series that nothing was tuned on, beside statsforecast; see `make bench-forecast`."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from analytics.forecast import default, get
from analytics.forecast.backtest import Backtest, backtest, rolling_origins
from benchmarks.forecasting import peer_runner
from benchmarks.forecasting.peers import MODELS
from benchmarks.forecasting.scenarios import doubled, is_diurnal, with_gap
from benchmarks.forecasting.series import TRACES, Series, halves, reported_before
from benchmarks.report import Row, write

#: Origins per series of our forecaster, of the peers (the same ones, thinned), and of each scenario.
ORIGINS, PEER_ORIGINS, SCENARIO_ORIGINS = 36, 6, 6
PEER_SECONDS = 480.0
FAR = "1-24h"


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print the table, write build/bench/forecast.json."""
    argparse.ArgumentParser(description=__doc__).parse_args(argv)
    if not TRACES.is_dir():
        print(f"no traces in {TRACES}: nothing to measure", file=sys.stderr)
        return 1
    series = halves()[1]
    ours = {one.name: run(one, origins_of(one, ORIGINS)) for one in series}
    for name, found in ours.items():
        print(describe(name, found))
    for line in by_kind(series, ours):
        print(line)
    before = {one.name: ours.get(one.name) or run(one, origins_of(one, ORIGINS)) for one in reported_before()}
    peers = compare(series)
    rows = [*accuracy(ours, peers), *bands(ours), *scenarios(series), *costs(series, ours)]
    rows.append(Row("origins", sum(len(found.origins) for found in ours.values()), ""))
    print("the split before, which had no kinds:")
    rows += [replace(row, item=f"before_{row.item}", peer=None) for row in [*accuracy(before, {}), *bands(before)]]
    for (name, bucket), value in peers.items():
        print(f"peer {name:<17} relative MAE {bucket:<7} {value:.3f}")
    write("forecast", rows)
    return 0


def origins_of(series: Series, count: int) -> tuple[int, ...]:
    """Return origins at all times of day, after one week of history (three where the series is long)."""
    learn_days = 21 if len(series.values) >= 40 * series.day else 7
    return rolling_origins(len(series.values), series.day, count, learn_days)


def run(series: Series, origins: Sequence[int], name: str = "blend") -> Backtest:
    """Backtest one of our forecasters."""
    step = series.step_seconds
    return backtest(
        series.times, series.values, lambda: get(name, step), origins,
        step_seconds=step, train_days=series.train_days, clock=time.process_time,
    )  # fmt: skip


def describe(name: str, found: Backtest) -> str:
    """Return one line on one series."""
    near, mid, far = (found.relative_mae(bucket) for bucket in ("5-30m", "30-60m", FAR))
    covered = found.coverage(FAR)
    return (
        f"{name:<30} relative MAE {near:6.3f} {mid:6.3f} {far:6.3f}  MASE {found.mase(FAR):6.3f}"
        f"  coverage .9 {covered[0.9]:.3f} .99 {covered[0.99]:.3f}  head-room .99 {found.head_room(FAR, 0.99):.2f}"
    )


def by_kind(series: Sequence[Series], ours: Mapping[str, Backtest]) -> list[str]:
    """Return one line on each kind of series: geometric means of relative MAE, means of the rest."""
    lines = []
    for kind in sorted({one.kind for one in series}):
        members = [ours[one.name] for one in series if one.kind == kind]
        errors = " ".join(f"{geometric([f.relative_mae(b) for f in members]):6.3f}" for b in ("5-30m", "30-60m", FAR))
        losses = " ".join(f"{np.mean([f.pinball(FAR)[q] for f in members]):.3f}" for q in (0.5, 0.9, 0.99))
        lines.append(
            f"kind {kind:<25} relative MAE {errors}  MASE {np.mean([f.mase(FAR) for f in members]):6.3f}"
            f"  pinball .5 .9 .99 {losses}  head-room .99 {np.median([f.head_room(FAR, 0.99) for f in members]):.2f}"
        )
    return lines


def geometric(values: Sequence[float]) -> float:
    """Return the geometric mean of the finite values."""
    known = np.array([value for value in values if np.isfinite(value)])
    return float(np.exp(np.log(np.maximum(known, 1e-3)).mean())) if len(known) else float("nan")


def accuracy(ours: Mapping[str, Backtest], peers: Mapping[tuple[str, str], float]) -> list[Row]:
    """Return errors relative to naive day (geometric mean over series), and MASE (mean over series)."""
    rows = []
    for item, bucket in (
        ("relative_mae_5_30m", "5-30m"),
        ("relative_mae_30_60m", "30-60m"),
        ("relative_mae_1_24h", FAR),
    ):
        value = geometric([found.relative_mae(bucket) for found in ours.values()])
        beside = {name: peers[name, bucket] for name in MODELS if (name, bucket) in peers}
        best = min(beside, key=lambda name: beside[name]) if beside else None
        same = peers.get((beside_name(best), bucket)) if best else None
        ratio = same / beside[best] if best and same else None
        rows.append(Row(item, value, "", best, ratio))
    rows.append(Row("mase_1_24h", float(np.nanmean([found.mase(FAR) for found in ours.values()])), ""))
    return rows


def bands(ours: Mapping[str, Backtest]) -> list[Row]:
    """Return pinball losses over mean demand and coverage, means over series, with a bootstrap over origins."""
    rows = []
    for quantile, item in ((0.5, "pinball_q50"), (0.9, "pinball_q90"), (0.99, "pinball_q99")):
        rows.append(Row(item, float(np.mean([found.pinball(FAR)[quantile] for found in ours.values()])), "of mean"))
    for quantile, item in ((0.9, "coverage_q90"), (0.9, "coverage_q90_upper"), (0.99, "coverage_q99")):
        value = float(np.mean([found.coverage(FAR)[quantile] for found in ours.values()]))
        low, high = interval(ours, quantile)
        print(f"{item}: {value:.3f}, 95 % interval {low:.3f} to {high:.3f}")
        rows.append(Row(item, value, ""))
    room = float(np.median([found.head_room(FAR, 0.99) for found in ours.values()]))
    return [*rows, Row("head_room_q99_median", room, "of what came")]


def interval(ours: Mapping[str, Backtest], quantile: float, draws: int = 500) -> tuple[float, float]:
    """Return the 95 % interval of mean coverage: series are drawn, and within them blocks of four origins in a row."""
    rng = np.random.default_rng(0)
    by_series = [found.covered_by_origin(FAR, quantile) for found in ours.values()]
    means = []
    for _ in range(draws):
        drawn = []
        for place in rng.integers(0, len(by_series), len(by_series)):
            held = by_series[place]
            starts = rng.integers(0, max(1, len(held) - 3), max(1, len(held) // 4))
            drawn.append(float(np.nanmean(np.concatenate([held[start : start + 4] for start in starts]))))
        means.append(float(np.mean(drawn)))
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


def scenarios(series: Sequence[Series]) -> list[Row]:
    """Return MASE after a doubling two hours ago (scale of the clean series) and the error with a gap over without."""
    shifted, ratios = [], []
    for one in series:
        origins = origins_of(one, SCENARIO_ORIGINS)
        clean = run(one, origins)
        gap = [run(with_gap(one, origin), [origin]) for origin in origins]
        holed = np.concatenate([found.errors(FAR)[0] for found in gap])
        ratios.append(float(holed.mean() / clean.errors(FAR)[0].mean()))
        if is_diurnal(one):
            error = [run(doubled(one, origin), [origin]).errors(FAR)[0].mean() for origin in origins]
            shifted.append(float(np.mean(np.array(error) / clean.scale)))
            # After a doubling everything is twice as large: twice the clean error is what noticing at once would give.
            print(f"doubled two hours ago: {one.name:<30} MASE {shifted[-1]:.3f}, clean {clean.mase(FAR):.3f}")
    return [Row("level_shift_mase", float(np.mean(shifted)), ""), Row("gap_over_clean", geometric(ratios), "")]


def costs(series: Sequence[Series], ours: Mapping[str, Backtest]) -> list[Row]:
    """Return CPU seconds of a refit (fit and predict) and of a refresh with its forecast, means over series."""
    refit = np.mean([float(np.mean(found.fit_seconds + found.predict_seconds)) for found in ours.values()])
    spent = []
    for one in series:
        newest = one.train_days * one.day
        forecaster = default(one.step_seconds).fit(one.times[-newest:-6], one.values[-newest:-6])
        began = time.process_time()
        forecaster.refresh(one.times[-newest:], one.values[-newest:]).predict(one.day)
        spent.append(time.process_time() - began)
    return [Row("refit_cpu_seconds", float(refit), "s"), Row("refresh_cpu_seconds", float(np.mean(spent)), "s")]


def compare(series: Sequence[Series]) -> dict[tuple[str, str], float]:
    """Return relative MAE by (forecaster, bucket) on the thinned origins, ours and the peers' alike."""
    tasks: list[dict[str, object]] = []
    ours = {}
    for one in series:
        origins = origins_of(one, ORIGINS)[:: ORIGINS // PEER_ORIGINS]
        ours[one.name] = run(one, origins)
        tasks += [
            {
                "id": f"{model}/{one.name}/{place}", "model": model, "day": one.day, "steps": one.day,
                "values": [float(v) for v in one.values[max(0, origin - one.train_days * one.day) : origin]],
            }
            for place, origin in enumerate(origins) for model in MODELS
        ]  # fmt: skip
    answers = peer_runner.ask(sorted(tasks, key=lambda task: str(task["id"]).rsplit("/", 1)[1]), PEER_SECONDS)
    if not answers:
        return {}
    told: dict[tuple[str, str], float] = {}
    for bucket in ("5-30m", "30-60m", FAR):
        for model in MODELS:
            both = [peer_errors(found, name, model, bucket, answers) for name, found in ours.items()]
            told[model, bucket] = geometric([theirs for theirs, _ in both])
            told[beside_name(model), bucket] = geometric([mine for _, mine in both])
    for model in MODELS:
        seconds = [float(str(a["seconds"])) for i, a in answers.items() if i.startswith(model) and "seconds" in a]
        print(f"peer {model:<14} {len(seconds)} forecasts, {np.mean(seconds):.2f} CPU s each")
    return told


def beside_name(model: str) -> str:
    """Return what the blend is called on the origins that a peer answered: a peer may run out of time."""
    return f"blend/{model}"


def peer_errors(
    ours: Backtest, name: str, model: str, bucket: str, answers: Mapping[str, Mapping[str, object]]
) -> tuple[float, float]:
    """Return the relative MAE of a peer and of ours on the origins of `ours` that the peer answered."""
    said = np.full(ours.actual.shape, np.nan)
    for place in range(len(ours.origins)):
        path = answers.get(f"{model}/{name}/{place}", {}).get("path")
        if isinstance(path, list):
            said[place] = path
    theirs = Backtest(
        ours.origins, ours.lead_seconds, (0.5,), ours.actual, said[..., None], ours.naive, ours.scale, ours.mean,
        ours.fit_seconds, ours.predict_seconds,
    )  # fmt: skip
    middle = ours.quantiles.index(0.5)
    same = replace(theirs, said=np.where(np.isfinite(said), ours.said[..., middle], np.nan)[..., None])
    return theirs.relative_mae(bucket), same.relative_mae(bucket)


if __name__ == "__main__":
    sys.exit(main())

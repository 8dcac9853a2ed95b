"""Answers "what would each policy have done with my own days?" and fits the model behind it; changes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from math import isfinite

import numpy as np
import numpy.typing as npt

from analytics.replay import Arrivals, Calibration, Engine, Simulator, arrivals
from analytics.replay import calibrate as fit
from analytics.replay.front import pareto_front
from analytics.replay.scorecard import Fleet, Objective, scorecard
from analytics.scaling.policies import get
from collector.answers.replay_picture import ORACLE, frontier_picture
from collector.store.reader import Columns, Reader
from signals.errors import InputError, NotEnoughDataError, UnknownNameError

__all__ = ["calibrate", "recorded", "replay"]

Floats = npt.NDArray[np.float64]
#: What is compared when no policies are named.
USUAL = ("sloscope", "keda-in-flight", "knative", "hpa-queue", "dynamo", "yesterday", "static-peak")
#: Seats and KV tokens assumed where an engine does not tell (vLLM's defaults on an 80-GB GPU with an 8B model).
SEATS, KV_TOKENS = 256, 400_000


def replay(
    load: Arrivals,
    *,
    fleet: Fleet | None = None,
    objective: Objective | None = None,
    policies: Sequence[str] = USUAL,
    cold_start_seconds: float = 180.0,
    tune: bool = True,
) -> dict[str, object]:
    """Return `{"rows": [...]}` as the contract shapes it, the cheapest policy that keeps the objective first.

    Kept is judged by `reachable_ratio`, which is below the target where requests miss it even alone on an instance
    (`attainable_ratio` do not) or hold up others at any load. `capacity_per_instance` is the rate of this mix that
    policies plan with. `front` names the policies that no other one beats in both cost and quality, `picture` draws
    them all.

    Raises UnknownNameError for a policy that does not exist and InputError for empty arrivals.
    """
    named = [name if name == ORACLE else get(name).name for name in policies]
    if len(load) == 0:
        raise InputError("there are no arrivals to replay")
    aim, what = objective or Objective(), fleet or Fleet()
    found = scorecard(load, what, aim, named, cold_start_seconds, tune)
    outcomes = [outcome for outcome, _ in found.outcomes]
    front = [outcome.policy for outcome in pareto_front([one for one in outcomes if one.policy != ORACLE])]
    rows = [
        {
            "policy": outcome.policy,
            "good_ratio": _number(outcome.good_ratio),
            "bad_minutes": outcome.bad_minutes,
            "gpu_hours": _number(outcome.gpu_hours),
            "gpu_hours_vs_oracle": _number(over),
            "flaps": outcome.flaps,
            "scale_events": outcome.scale_events,
            "p99_ttft": _number(outcome.p99_ttft),
            "usd": _number(outcome.usd),
        }
        for outcome, over in found.outcomes
    ]
    return {
        "rows": rows,
        "requests": len(load),
        "hours": round(float(load.seconds[-1]) / 3600, 4),
        "cold_start_seconds": cold_start_seconds,
        "objective": {
            "ttft_seconds": aim.ttft_seconds,
            "tpot_seconds": _number(aim.tpot_seconds),
            "target": aim.target,
            "attainable_ratio": _number(found.ability.attainable),
            "reachable_ratio": _number(found.ability.reachable),
        },
        "capacity_per_instance": _number(found.ability.rate),
        "front": front,
        "picture": frontier_picture(outcomes, front, aim.target, len(load)),
    }


def recorded(reader: Reader, now: datetime, *, days: float = 7.0, model: str | None = None) -> tuple[str, Arrivals]:
    """Return the model and its recorded requests, else arrivals, of the last days; the busiest model by default."""
    since = now - timedelta(days=days)
    names = [str(name) for name in reader.columns("replay_models", since=since, now=now)["model"]]
    if not names:
        raise NotEnoughDataError(f"no requests or arrivals in the last {days:g} days", days=days)
    if model is not None and model not in names:
        raise UnknownNameError("model", model, names)
    chosen = model or names[0]
    rows = reader.columns("replay_requests", model=chosen, since=since, now=now)
    if len(rows["ts"]) == 0:
        rows = reader.columns("replay_arrivals", model=chosen, since=since, now=now)
        return chosen, from_columns(rows)
    samples = reader.columns("replay_samples", model=chosen, since=since, now=now)
    return chosen, from_columns({**rows, "cached_tokens": _cached(rows, samples)})


def from_columns(columns: Mapping[str, npt.NDArray[np.generic]]) -> Arrivals:
    """Return arrivals from columns `ts` (datetime64), `input_tokens`, and where known the others of the views.

    Tokens that speculation got for free take no step of their own: they shorten the output that is replayed.
    """
    seconds = (columns["ts"] - columns["ts"].min()) / np.timedelta64(1, "us") / 1e6 if len(columns["ts"]) else []
    output = _floats(columns, "output_tokens")
    free = np.nan_to_num(_floats(columns, "spec_accepted_tokens"))
    sessions = columns.get("session")
    key = None
    if sessions is not None and any(name is not None for name in sessions.tolist()):
        numbers: dict[object, int] = {}
        key = np.array([-1 if name is None else numbers.setdefault(name, len(numbers)) for name in sessions.tolist()])
    return arrivals(
        np.asarray(seconds, dtype=np.float64),
        _floats(columns, "input_tokens"),
        np.maximum(output - free, 1.0),
        _floats(columns, "cached_tokens") if "cached_tokens" in columns else None,
        key,
    )


def calibrate(
    reader: Reader,
    now: datetime,
    *,
    days: float = 1.0,
    model: str | None = None,
    token_budget: int = 2048,
) -> dict[str, object]:
    """Fit the engine to its recorded samples and return it with predicted and measured TTFT of the same requests."""
    chosen, load = recorded(reader, now, days=days, model=model)
    since = now - timedelta(days=days)
    samples = reader.columns("replay_samples", model=chosen, since=since, now=now)
    if len(samples["ts"]) == 0:
        raise NotEnoughDataError(f"no engine samples of {chosen} in the last {days:g} days")
    instances = np.unique(samples["instance"].astype(str))
    busiest = max(instances, key=lambda name: float(np.nansum(_one(samples, name)["generation_tokens"])))
    mine = _one(samples, busiest)
    told, kv_tokens, block = _limits(reader.columns("replay_limits", model=chosen, now=now))
    seats = told or _seats_seen(mine) or SEATS
    found = fit(mine, seats=seats, kv_tokens=kv_tokens, token_budget=token_budget, block_tokens=block)
    rows = reader.columns("replay_requests", model=chosen, since=since, now=now)
    result: dict[str, object] = {
        "model": chosen,
        "instance": str(busiest),
        "engine": _engine(found.engine),
        "samples": found.samples,
        "median_error": _number(found.median_error),
    }
    if len(rows["ts"]):
        start = (rows["ts"].min() - samples["ts"].min()) / np.timedelta64(1, "us") / 1e6
        result["ttft"] = _compared(load, found, float(start), len(instances), _floats(rows, "ttft_seconds"))
    return result


def _cached(rows: Columns, samples: Columns) -> Floats:
    """Return each request's cached prompt tokens; unknown ones by the engines' hit ratio when its first token came.

    Engine spans do not say what a single request read from the cache, the engines' counters do for all of them.
    """
    known = _floats(rows, "cached_tokens")
    prompt, hits = _floats(samples, "prompt_tokens"), _floats(samples, "prefix_hit_tokens")
    order = np.argsort(samples["ts"], kind="stable")
    if len(order) == 0 or not (hits > 0).any() or np.isfinite(known).all():
        return known
    first = rows["ts"] + (np.nan_to_num(_floats(rows, "ttft_seconds")) * 1e6).astype("timedelta64[us]")
    place = np.clip(np.searchsorted(samples["ts"][order], first), 0, len(order) - 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.nan_to_num(np.clip(hits / prompt, 0.0, 1.0))[order][place]
    return np.where(np.isfinite(known), known, _floats(rows, "input_tokens") * ratio)


def _compared(load: Arrivals, found: Calibration, start: float, instances: int, measured: Floats) -> dict[str, object]:
    """Replay the recorded requests at the recorded pace and set both distributions side by side."""
    length = float(load.seconds[-1]) + 600
    pace = found.pace_track(start, length, 2.0)
    simulator = Simulator(load, found.engine, instances, instances, pace=pace, pace_step_seconds=2.0)
    simulator.advance(length)
    simulator.finish()
    predicted = simulator.ttft_seconds()
    table = {}
    for name, values in (("measured", measured), ("predicted", predicted)):
        known = values[np.isfinite(values)]
        p50, p99 = np.quantile(known, (0.5, 0.99), method="inverted_cdf") if len(known) else (np.nan, np.nan)
        table[name] = {"p50": _number(float(p50)), "p99": _number(float(p99)), "requests": len(known)}
    return dict(table)


def _one(samples: Columns, instance: str) -> dict[str, Floats]:
    mine = samples["instance"] == instance
    names = [name for name in samples if name not in ("ts", "instance")]
    return {name: _floats(samples, name)[mine] for name in names}


def _seats_seen(samples: Mapping[str, Floats]) -> int:
    """Return the most requests that ran while others waited: the seats, where memory was not short; 0 if never so."""
    full = (samples["queue_depth"] >= 1) & (samples["kv_usage_ratio"] < 0.9) & np.isfinite(samples["running"])
    return int(samples["running"][full].max()) if full.sum() >= 3 else 0


def _limits(rows: Columns) -> tuple[int, int, int]:
    """Return seats (0 where no engine tells), KV tokens and block size."""

    def first(name: str, otherwise: int) -> int:
        known = [value for value in _floats(rows, name).tolist() if isfinite(value)]
        return int(known[0]) if known else otherwise

    return first("max_running", 0), first("kv_capacity_tokens", KV_TOKENS), first("block_tokens", 16)


def _engine(engine: Engine) -> dict[str, object]:
    return {name: getattr(engine, name) for name in Engine.__dataclass_fields__}


def _floats(columns: Mapping[str, npt.NDArray[np.generic]], name: str) -> Floats:
    if name not in columns:
        return np.full(len(columns["ts"]), np.nan)
    return np.array([np.nan if value is None else value for value in columns[name].tolist()], dtype=np.float64)


def _number(value: float) -> float | None:
    return round(value, 6) if isfinite(value) else None

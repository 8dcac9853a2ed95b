"""Answers whether each objective is met: counts, budget, burn rates, state and quantiles; sends no alert."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import numpy as np

from analytics.slo import (
    DIMENSIONS,
    Objective,
    WindowCounts,
    budget,
    burn_rate,
    default_objective,
    firing,
)
from analytics.slo.alerting import GUARD_Z
from analytics.slo.edge_hint import vllm_flag
from collector.answers.counter_events import unattributed_minutes
from collector.answers.objective_scope import Scope, just_after, share
from collector.answers.objective_windows import Tally, reach_of, stored_tallies, window_counts
from collector.answers.quantiles import EXACT_LIMIT, ScopeQuantiles, page_quantiles, request_quantiles, shown_metric
from collector.answers.sight import IDLE_SECONDS, Sight, quiet_scopes, read_sights, sight_of
from collector.answers.windows import rules_of, window_name
from collector.store.reader import Reader

_DAY = timedelta(days=1)


def status(
    reader: Reader,
    now: datetime,
    *,
    objectives: Sequence[Objective] | None = None,
    raw_window: timedelta | None = None,
) -> dict[str, object]:
    """Return {"objectives": [...]}: one row per objective and scope, as the contract's `status` has it.

    Without objectives the built-in default stands in: TTFT at most 2 s for 99 % over 28 days, per model.
    `raw_window` is for a server that stores objective counts every minute: requests are read no further back than
    that, and coverage is of the last day.
    """
    wanted = [default_objective()] if objectives is None else list(objectives)
    rows = [row for objective in wanted for row in _objective_rows(reader, now, objective, raw_window)]
    return {"objectives": rows}


def _objective_rows(
    reader: Reader, now: datetime, objective: Objective, raw_window: timedelta | None
) -> list[dict[str, object]]:
    rules = rules_of(objective)
    looks = {300, 3_600, objective.window_seconds}
    looks |= {seconds for rule in rules for seconds in (rule.long_seconds, rule.short_seconds)}
    windows = sorted(looks, reverse=True)
    starts = [now - timedelta(seconds=seconds) for seconds in windows]
    opening, until = now - timedelta(seconds=objective.window_seconds), just_after(now)
    reach = reach_of(reader, objective, opening, until, raw_window=raw_window)
    stored_before = reach.stored_before
    counted = window_counts(reader, objective, starts, until, stored_before=stored_before)
    sights = read_sights(reader, opening if raw_window is None else max(opening, now - _DAY), until)
    hidden = _unattributed(reader, objective, starts, until, stored_before)
    quantiles = _quantiles(reader, objective, opening, until, counted, stored_before)
    gpus = _gpu_seconds(reader, max(opening, reach.since or opening), now)
    for scope in quiet_scopes(objective, sights):
        if not any(scope[0] == known[0] for known in counted):
            counted[scope] = [Tally() for _ in windows]
    return [
        _row(
            objective,
            now,
            scope,
            dict(zip(windows, tallies, strict=True)),
            dict(
                zip(windows, hidden.get(scope[0] if "model" in objective.by else None, [0] * len(windows)), strict=True)
            ),
            sight_of(sights, scope[0], objective),
            quantiles.get(scope),
            reach.since,
            gpus.get(scope[0]) if objective.model_wide and "model" in objective.by else None,
        )
        for scope, tallies in sorted(counted.items(), key=lambda item: [name or "" for name in item[0]])
    ]


def _row(
    objective: Objective,
    now: datetime,
    scope: Scope,
    tallies: Mapping[int, Tally],
    hidden: Mapping[int, int],
    sight: Sight,
    found: ScopeQuantiles | None,
    since: datetime | None,
    gpu_seconds: float | None,
) -> dict[str, object]:
    """Return one row of the contract's JSON."""
    counts = {
        seconds: WindowCounts(tally.good, tally.bad + (hidden[seconds] if objective.model_wide else 0))
        for seconds, tally in tallies.items()
    }
    whole, tally = counts[objective.window_seconds], tallies[objective.window_seconds]
    rates = {
        seconds: burn_rate(one.bad, one.total, objective.target)
        for seconds, one in counts.items()
        if seconds != objective.window_seconds
    }
    spent = budget(
        whole.good,
        whole.bad,
        objective.target,
        window_seconds=objective.window_seconds,
        current_burn_rate=rates.get(3_600),
    )
    alerts = firing(rules_of(objective), counts, objective.target, min_events=objective.min_events, z=GUARD_Z)
    state = "ok"
    if spent is not None and spent.remaining_ratio <= 0:
        state = "exhausted"
    elif alerts:
        state = "burning"
    elif sight.is_blind(now):
        state = "no_data"
    elif spent is None or counts[IDLE_SECONDS].total == 0:
        state = "no_traffic"
    p50, p99 = found.quantiles if found else (None, None)
    row: dict[str, object] = {
        "objective": objective.name,
        "label": "default" if objective.is_default else None,
        "metric": objective.metric,
        **dict(zip(DIMENSIONS, scope, strict=True)),
        "window": window_name(objective.window_seconds),
        "target": objective.target,
        "thresholds": {t.metric: _limits(t.at_most_seconds, t.by_length) for t in objective.thresholds},
        "good": int(whole.good),
        "bad": int(whole.bad),
        "excluded": tally.excluded,
        "unattributed_bad": hidden[objective.window_seconds],
        "ratio": share(whole.good, whole.total),
        "ratio_low": share(whole.good - tally.straddling, whole.total),
        "good_per_gpu_second": None if gpu_seconds is None else share(whole.good, gpu_seconds),
        "coverage": None if sight.finished is None else share(sight.recorded, sight.finished),
        "budget_remaining": None if spent is None else spent.remaining_ratio,
        "budget_allowed_events": None if spent is None else spent.allowed_events,
        "seconds_to_exhaustion": None if spent is None else spent.seconds_to_exhaustion,
        "burn_rate": {window_name(seconds): rate for seconds, rate in sorted(rates.items())},
        "firing": [
            {
                "severity": alert.rule.severity,
                "long": window_name(alert.rule.long_seconds),
                "short": window_name(alert.rule.short_seconds),
                "factor": alert.rule.factor,
            }
            for alert in alerts
        ],
        "state": state,
        "p50": None if p50 is None else p50.value,
        "p99": None if p99 is None else p99.value,
        "p99_interval": [None, None] if p99 is None else [p99.low, p99.high],
        "p99_resolved": None if p99 is None else p99.resolved,
        "quantile_basis": None if found is None else found.basis,
        "quantile_metric": shown_metric(objective),
        "sli_source": "+".join(sorted(tally.sources)) or None,
        "undecided": tally.straddling,
        "unmeasured": tally.unmeasured,
        "exclusions": [
            {"name": one.name, "reason": one.reason, "decided_by": one.decided_by, "events": tally.exclusions[one.name]}
            for one in objective.exclusions
            if one.name in tally.exclusions
        ],
        "revision": objective.revision,
        "exact_since": None if since is None else since.isoformat().replace("+00:00", "Z"),
        "hint": _hint(objective, tally.straddling > 0 or (p99 is not None and not p99.resolved)),
    }
    return row


def _limits(at_most_seconds: float | None, by_length: Mapping[str, float]) -> object:
    return {"default": at_most_seconds, **by_length} if by_length else at_most_seconds


def _hint(objective: Objective, unresolved: bool) -> str | None:
    """Return the engine flag that would resolve a quantile that the page's edges leave open."""
    if not unresolved:
        return None
    limits = tuple(one.at_most_seconds for one in objective.thresholds if one.at_most_seconds is not None)
    flag = vllm_flag(shown_metric(objective), limits)
    return f"the engine's histogram edges are too far apart here; start it with {flag}"


def _gpu_seconds(reader: Reader, start: datetime, end: datetime) -> dict[str | None, float]:
    """Return GPU-seconds by model, those that are known."""
    columns = reader.columns("slo_gpu_seconds", since=start, until=end)
    seconds = columns["gpu_seconds"].astype(np.float64).tolist()
    return {model: one for model, one in zip(columns["model"].tolist(), seconds, strict=True) if not np.isnan(one)}


def _unattributed(
    reader: Reader,
    objective: Objective,
    starts: Sequence[datetime],
    until: datetime,
    stored_before: datetime | None,
) -> dict[str | None, list[int]]:
    """Return by model (None where the objective is not by model) the counter-only bad events of each window."""
    found: dict[str | None, list[int]] = {}
    since = starts[0]
    if stored_before is not None:
        since = max(since, stored_before)
        for scope, ring, _, hidden in stored_tallies(reader, objective, starts, stored_before):
            sums = found.setdefault(scope[0], [0] * len(starts))
            for place in range(ring):
                sums[place] += hidden
    opened = [np.datetime64(start.replace(tzinfo=None, second=0, microsecond=0), "us") for start in starts]
    for model, minute, count in unattributed_minutes(reader, objective, since, until):
        sums = found.setdefault(model if "model" in objective.by else None, [0] * len(starts))
        for place, opening in enumerate(opened):
            sums[place] += count if minute >= opening else 0
    return found


def _quantiles(
    reader: Reader,
    objective: Objective,
    start: datetime,
    until: datetime,
    counted: Mapping[Scope, Sequence[Tally]],
    stored_before: datetime | None,
) -> dict[Scope, ScopeQuantiles]:
    """Return quantiles by scope: of requests where any were counted, of pages elsewhere."""
    whole = [tallies[0] for tallies in counted.values()]
    from_requests = sum(tally.good + tally.bad for tally in whole if tally.sources - {"page"})
    found: dict[Scope, ScopeQuantiles] = {}
    if any("page" in tally.sources for tally in whole):
        found.update(page_quantiles(reader, objective, start, until))
    if from_requests:
        many = from_requests > EXACT_LIMIT
        found.update(request_quantiles(reader, objective, start, until, binned=many, bins_before=stored_before))
    return found

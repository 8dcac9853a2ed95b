"""Answers whether each objective is met: counts, budget, burn rates, state and quantiles; sends no alert."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from collector.answers.objective_counts import unattributed_minutes
from collector.answers.objective_scope import Scope, just_after, moment_of, share
from collector.answers.objective_windows import Tally, reach_of, stored_tallies, window_counts
from collector.answers.quantiles import EXACT_LIMIT, ScopeQuantiles, page_quantiles, request_quantiles, shown_metric
from collector.answers.windows import rules_of, window_name
from collector.store.reader import Reader

#: Without a good scrape for this long a model that has engines is blind.
BLIND_SECONDS = 300
#: Without an event for this long a model is idle (or, where nothing scrapes it, unseen).
IDLE_SECONDS = 3_600
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Sight:
    """What can be seen of one model: requests recorded against finished, and when it was last heard of."""

    recorded: int
    finished: float | None
    newest_request: datetime | None
    newest_good_scrape: datetime | None
    newest_scrape: datetime | None

    def is_blind(self, now: datetime) -> bool:
        """Say whether nothing proves that the model is idle rather than unseen."""
        heard = [moment for moment in (self.newest_request, self.newest_good_scrape) if moment is not None]
        patience = IDLE_SECONDS if self.newest_scrape is None else BLIND_SECONDS
        return not heard or (now - max(heard)).total_seconds() > patience


_UNSEEN = Sight(0, None, None, None, None)


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
    sights = _sights(reader, opening if raw_window is None else max(opening, now - _DAY), until)
    hidden = _unattributed(reader, objective, starts, until, stored_before)
    quantiles = _quantiles(reader, objective, opening, until, counted, stored_before)
    for scope in _quiet_scopes(objective, sights):
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
            _sight_of(sights, scope[0], objective),
            quantiles.get(scope),
            reach.since,
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
        "exclusions": [
            {"name": one.name, "reason": one.reason, "decided_by": one.decided_by, "events": tally.exclusions[one.name]}
            for one in objective.exclusions
            if one.name in tally.exclusions
        ],
        "revision": objective.revision,
        "exact_since": None if since is None else since.isoformat().replace("+00:00", "Z"),
        "hint": _hint(objective, p99 is not None and not p99.resolved),
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


def _sights(reader: Reader, start: datetime, until: datetime) -> dict[str | None, Sight]:
    columns = reader.columns("slo_sight", since=start, until=until)
    found = {}
    for place, model in enumerate(columns["model"].tolist()):
        finished = float(columns["finished"][place])
        found[model] = Sight(
            int(columns["recorded"][place]),
            None if np.isnan(finished) else finished,
            *(moment_of(columns[name][place]) for name in ("newest_request", "newest_good_scrape", "newest_scrape")),
        )
    return found


def _sight_of(sights: Mapping[str | None, Sight], model: str | None, objective: Objective) -> Sight:
    """Return the sight of a row's model, or of all models together where the row is not of one model."""
    if "model" in objective.by:
        return sights.get(model, _UNSEEN)
    kept = objective.only.get("model")
    several = [sight for name, sight in sights.items() if kept is None or name in kept]
    finished = [sight.finished for sight in several if sight.finished is not None]

    def newest(name: str) -> datetime | None:
        return max((moment for sight in several if (moment := getattr(sight, name)) is not None), default=None)

    return Sight(
        sum(sight.recorded for sight in several),
        sum(finished) if finished else None,
        *(newest(name) for name in ("newest_request", "newest_good_scrape", "newest_scrape")),
    )


def _quiet_scopes(objective: Objective, sights: Mapping[str | None, Sight]) -> list[Scope]:
    """Return the scopes that deserve a row without any event: models that are scraped or that the objective names."""
    rest = (None,) * (len(DIMENSIONS) - 1)
    named = objective.only.get("model")
    if "model" not in objective.by:
        return [(None, *rest)]
    models = list(named) if named is not None else [model for model in sights if model is not None]
    return [(model, *rest) for model in models]


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

"""Answers what tokens cost, by model, tenant and length, at the objective and overall, and who owes what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta

import numpy as np

from analytics.scaling import Pool
from analytics.slo import Objective, default_objective
from analytics.slo.cost import (
    DEFAULT_WEIGHTS,
    KINDS,
    Life,
    Line,
    Price,
    Spend,
    Tokens,
    TokenWeights,
    Usage,
    bill_of,
    spend_of,
    usd_per_mtok,
)
from collector.answers.objective_scope import count_parameters, moment_of, share
from collector.store.reader import Columns, Reader

#: What is shown when nobody asks for another window.
WINDOW = timedelta(days=1)
#: Parameters of an objective that the usage query takes; scope and exclusions do not change who used what.
_LIMITS = ("ttft_limits", "tpot_limits", "e2e_limits", "has_ttft", "buckets")


def prices_of(pools: Iterable[Pool]) -> tuple[Price, ...]:
    """Return the prices that pools declare, each from midnight UTC of its `since`."""
    return tuple(
        Price(
            pool.usd_per_gpu_hour,
            None
            if pool.price_since is None
            else datetime.combine(date.fromisoformat(pool.price_since), time(), tzinfo=UTC),
            model=pool.model,
            gpu_type=pool.gpu_type,
        )
        for pool in pools
        if pool.usd_per_gpu_hour is not None
    )


def cost(
    reader: Reader,
    now: datetime,
    *,
    prices: Sequence[Price] = (),
    pools: Sequence[Pool] = (),
    start: datetime | None = None,
    end: datetime | None = None,
    objective: Objective | None = None,
    weights: TokenWeights = DEFAULT_WEIGHTS,
) -> dict[str, object]:
    """Return spend, USD per million tokens, the bill by tenant and the reconciliation of tokens over [start, end).

    Without a window the last day up to `now`. `objective` says which tokens count as good (default: the built-in one).
    Without a price nothing is guessed: `usd` figures are None and `missing` says why.
    """
    closes = end or now
    opens = start or closes - WINDOW
    known = tuple(dict.fromkeys((*prices, *prices_of(pools))))
    lives = _lives(reader, opens, closes, pools)
    spends = spend_of(lives, known)
    usages, uncached = _usages(reader, opens, closes, objective or default_objective())
    engines = reader.columns("cost_engine_tokens", since=opens, until=closes)
    lines = bill_of(spends, usages, weights)
    priced = any(spend.usd > 0 for spend in spends)
    total = sum(line.cents for line in lines)
    return {
        "from": _rfc3339(opens),
        "to": _rfc3339(closes),
        "usd": total / 100 if priced else None,
        "gpu_hours": sum(spend.gpu_hours for spend in spends) if spends else None,
        "weights": {kind: getattr(weights, kind) for kind in KINDS},
        "prices": [
            {
                "usd_per_gpu_hour": one.usd_per_gpu_hour,
                "since": None if one.since is None else _rfc3339(one.since),
                "pool": one.pool,
                "model": one.model,
                "gpu_type": one.gpu_type,
            }
            for one in known
        ],
        "models": _models(spends, usages, engines, weights, priced=priced),
        "rows": _rows(spends, usages, lines, weights, priced=priced),
        "bill": _bill(lines) if priced else [],
        "reconciliation": _reconciliation(usages, engines, uncached),
        "missing": _missing(lives, spends, sum(uncached.values()), priced=priced),
    }


def _lives(reader: Reader, start: datetime, end: datetime, pools: Sequence[Pool]) -> list[Life]:
    columns = reader.columns("cost_lives", since=start, until=end)
    sizes = {pool.model: float(pool.gpus_per_instance) for pool in pools}
    found = []
    for place, instance in enumerate(columns["instance"].tolist()):
        opens, closes = moment_of(columns["opens"][place]), moment_of(columns["closes"][place])
        gpus = float(columns["gpus"][place])
        model = str(columns["model"][place])
        if opens is None or closes is None or closes <= opens:
            continue
        found.append(
            Life(
                str(instance),
                model,
                opens,
                closes,
                sizes.get(model) if np.isnan(gpus) else gpus,
                columns["pool"][place],
                columns["gpu_type"][place],
                str(columns["role"][place]),
            )
        )
    return found


def _usages(reader: Reader, start: datetime, end: datetime, objective: Objective) -> tuple[list[Usage], dict[str, int]]:
    """Return usage by model, tenant and length, and by model the requests whose cached tokens nobody recorded."""
    limits = {name: value for name, value in count_parameters(objective).items() if name in _LIMITS}
    columns = reader.columns("cost_usage", since=start, until=end, **limits)
    found: list[Usage] = []
    uncached: dict[str, int] = {}
    for place in range(len(columns["requests"])):
        served, good = (Tokens(*(int(columns[f"{kept}{kind}"][place]) for kind in KINDS)) for kept in ("", "good_"))
        found.append(
            Usage(
                columns["model"][place] or "unknown",
                columns["tenant"][place],
                columns["length_bucket"][place],
                served,
                good,
                int(columns["requests"][place]),
                int(columns["good_requests"][place]),
            )
        )
        model = found[-1].model
        uncached[model] = uncached.get(model, 0) + int(columns["without_cached"][place])
    return found, uncached


def _models(
    spends: Sequence[Spend], usages: Sequence[Usage], engines: Columns, weights: TokenWeights, *, priced: bool
) -> list[dict[str, object]]:
    idle = dict(zip(engines["model"].tolist(), engines["idle_ratio"].astype(np.float64).tolist(), strict=True))
    found: list[dict[str, object]] = []
    for model in sorted({*(spend.model for spend in spends), *(usage.model for usage in usages)}):
        own = [spend for spend in spends if spend.model == model]
        served, good = _totals([usage for usage in usages if usage.model == model])
        ratio = idle.get(model, float("nan"))
        found.append(
            {
                "model": model,
                "gpu_hours": sum(spend.gpu_hours for spend in own) if own else None,
                "usd": sum(spend.usd for spend in own) if priced else None,
                "idle_ratio": None if np.isnan(ratio) else ratio,
                "tokens": _by_kind(served),
                "good_tokens": _by_kind(good),
                "usd_per_mtok": usd_per_mtok(own, served, weights) if priced else dict.fromkeys(KINDS),
                "usd_per_mtok_at_slo": usd_per_mtok(own, served, weights, good=good)
                if priced
                else dict.fromkeys(KINDS),
            }
        )
    return found


def _rows(
    spends: Sequence[Spend], usages: Sequence[Usage], lines: Sequence[Line], weights: TokenWeights, *, priced: bool
) -> list[dict[str, object]]:
    """Return one row per model, tenant and length; its own price at the objective spreads its own spend over good."""
    found: list[dict[str, object]] = []
    for usage, line in zip(usages, lines, strict=False):
        good, whole = usage.good_tokens.weighted(weights), usage.tokens.weighted(weights)
        overall = usd_per_mtok(
            [spend for spend in spends if spend.model == usage.model],
            _totals([other for other in usages if other.model == usage.model])[0],
            weights,
        )
        stretch = share(whole, good)
        found.append(
            {
                "model": usage.model,
                "tenant": usage.tenant,
                "length_bucket": usage.length_bucket,
                "requests": usage.requests,
                "good_requests": usage.good_requests,
                "tokens": _by_kind(usage.tokens),
                "good_tokens": _by_kind(usage.good_tokens),
                "usd": line.cents / 100 if priced else None,
                "usd_per_mtok": overall if priced else dict.fromkeys(KINDS),
                "usd_per_mtok_at_slo": {
                    kind: None if not priced or price is None or stretch is None else price * stretch
                    for kind, price in overall.items()
                },
            }
        )
    return found


def _bill(lines: Iterable[Line]) -> list[dict[str, object]]:
    """Return the bill by tenant; tokens without a tenant and models without tokens have lines of their own."""
    cents: dict[tuple[str | None, str], int] = {}
    for line in lines:
        unserved = line.usage is None
        tenant = None if line.usage is None else line.usage.tenant
        note = "served no token" if unserved else "" if tenant is not None else "tenant unknown"
        cents[tenant, note] = cents.get((tenant, note), 0) + line.cents
    return [
        {"tenant": tenant, "note": note or None, "usd": amount / 100, "cents": amount}
        for (tenant, note), amount in sorted(cents.items(), key=lambda item: (item[0][1], item[0][0] or ""))
    ]


def _reconciliation(usages: Sequence[Usage], engines: Columns, uncached: Mapping[str, int]) -> list[dict[str, object]]:
    """Return recorded tokens beside those that engines counted; a ratio far from 1 means that the bill is wrong."""
    found: list[dict[str, object]] = []
    for place, model in enumerate(engines["model"].tolist()):
        own = [usage for usage in usages if usage.model == model]
        served, _ = _totals(own)
        nobody_knows = uncached.get(model, 0) == sum(usage.requests for usage in own)
        pairs = (
            ("input", served.input + served.cached, "prompt_tokens"),
            ("cached", None if nobody_knows else served.cached, "prefix_hit_tokens"),
            ("output", served.output, "generation_tokens"),
        )
        for kind, recorded, column in pairs:
            counted = float(engines[column][place])
            known = None if np.isnan(counted) else int(counted)
            ratio = None if known is None or recorded is None else share(recorded, known)
            found.append({"model": model, "kind": kind, "recorded": recorded, "engine": known, "ratio": ratio})
    return found


def _missing(lives: Sequence[Life], spends: Sequence[Spend], without_cached: int, *, priced: bool) -> list[str]:
    found = [f"GPUs of instance {name}" for name in sorted({life.instance for life in lives if life.gpus is None})]
    found += [
        f"price of {spend.unpriced_gpu_hours:.1f} GPU-hours of {spend.model}"
        for spend in spends
        if spend.unpriced_gpu_hours > 0
    ]
    if not lives:
        found.append("instances: nothing says which GPUs ran")
    elif not priced and not spends:
        found.append("GPU-hours: no instance says how many GPUs it has")
    if without_cached:
        found.append(f"cached tokens of {without_cached} requests; their input is billed as uncached")
    return found


def _totals(usages: Iterable[Usage]) -> tuple[Tokens, Tokens]:
    served, good = Tokens(), Tokens()
    for usage in usages:
        served, good = served.plus(usage.tokens), good.plus(usage.good_tokens)
    return served, good


def _by_kind(tokens: Tokens) -> dict[str, int]:
    return {kind: getattr(tokens, kind) for kind in KINDS}


def _rfc3339(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")

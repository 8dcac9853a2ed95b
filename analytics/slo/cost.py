"""Turns GPU-hours and tokens into dollars per million tokens and a bill that adds up; reads no prices from anywhere.

A model's GPUs are paid whole, idle time included, by the tokens that they served: what a token costs is the spend
divided by weighted tokens. Prefill-only instances are paid by input, decode-only ones by output.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from math import floor

KINDS: tuple[str, ...] = ("input", "cached", "output")
TOKENS_PER_PRICE = 1_000_000
SECONDS_PER_HOUR = 3_600


@dataclass(frozen=True, slots=True)
class TokenWeights:
    """What one token costs relative to an uncached input token.

    The defaults are the usual ratios of public API price lists (output four times input, cached reads a tenth): an
    assumption to be replaced by what a deployment measures.
    """

    input: float = 1.0
    cached: float = 0.1
    output: float = 4.0


DEFAULT_WEIGHTS = TokenWeights()


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens by kind; `input` without the cached ones."""

    input: int = 0
    cached: int = 0
    output: int = 0

    def plus(self, other: Tokens) -> Tokens:
        return Tokens(self.input + other.input, self.cached + other.cached, self.output + other.output)

    def weighted(self, weights: TokenWeights, kinds: Iterable[str] = KINDS) -> float:
        return float(sum(getattr(self, kind) * getattr(weights, kind) for kind in kinds))


@dataclass(frozen=True, slots=True)
class Price:
    """USD per GPU-hour from `since` on (None = always), for what matches all that is given."""

    usd_per_gpu_hour: float
    since: datetime | None = None
    pool: str | None = None
    model: str | None = None
    gpu_type: str | None = None


@dataclass(frozen=True, slots=True)
class Life:
    """One stretch of one instance; `gpus` None = nobody said how many."""

    instance: str
    model: str
    start: datetime
    end: datetime
    gpus: float | None = None
    pool: str | None = None
    gpu_type: str | None = None
    role: str = "both"


@dataclass(frozen=True, slots=True)
class Spend:
    """What one model's instances of one role cost; unpriced hours are hours that no price matches."""

    model: str
    role: str
    gpu_hours: float
    usd: float
    unpriced_gpu_hours: float


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and requests of one line; the good ones met the objective."""

    model: str
    tenant: str | None
    length_bucket: str | None
    tokens: Tokens
    good_tokens: Tokens
    requests: int = 0
    good_requests: int = 0


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the bill. `usage` None: the spend of a model that served no token, which nobody else pays."""

    model: str
    usage: Usage | None
    cents: int


def spend_of(lives: Iterable[Life], prices: Sequence[Price]) -> tuple[Spend, ...]:
    """Return spend by model and role; a life is cut where a newer price begins. Lives of unknown size are left out."""
    found: dict[tuple[str, str], list[float]] = {}
    for life in lives:
        if life.gpus is None:
            continue
        sums = found.setdefault((life.model, life.role), [0.0, 0.0, 0.0])
        cuts = sorted({price.since for price in prices if price.since and life.start < price.since < life.end})
        edges = [life.start, *cuts, life.end]
        for start, end in pairwise(edges):
            hours = life.gpus * (end - start).total_seconds() / SECONDS_PER_HOUR
            price = _price_at(life, start, prices)
            sums[0] += hours
            sums[1] += 0.0 if price is None else hours * price.usd_per_gpu_hour
            sums[2] += hours if price is None else 0.0
    return tuple(Spend(model, role, *sums) for (model, role), sums in sorted(found.items()))


def _price_at(life: Life, moment: datetime, prices: Sequence[Price]) -> Price | None:
    """Return the most specific price that holds at a moment, the newest of equals."""
    fitting = [
        price
        for price in prices
        if price.pool in (None, life.pool)
        and price.model in (None, life.model)
        and price.gpu_type in (None, life.gpu_type)
        and (price.since is None or price.since <= moment)
    ]

    def standing(price: Price) -> tuple[int, float]:
        given = sum(one is not None for one in (price.pool, price.model, price.gpu_type))
        return given, float("-inf") if price.since is None else price.since.timestamp()

    return max(fitting, key=standing, default=None)


def usd_per_mtok(
    spends: Iterable[Spend], served: Tokens, weights: TokenWeights = DEFAULT_WEIGHTS, *, good: Tokens | None = None
) -> dict[str, float | None]:
    """Return USD per million tokens by kind, None where nothing was served.

    With `good` the whole spend is divided by the good tokens alone: what a token within the objective costs.
    """
    tokens = served if good is None else good
    found: dict[str, float | None] = dict.fromkeys(KINDS)
    for spend in spends:
        kinds = kinds_paid_by(spend.role)
        whole = tokens.weighted(weights, kinds)
        if whole <= 0:
            continue
        for kind in kinds:
            share = getattr(weights, kind) / whole * spend.usd * TOKENS_PER_PRICE
            found[kind] = (found[kind] or 0.0) + share
    return found


def kinds_paid_by(role: str) -> tuple[str, ...]:
    """Return which tokens pay for instances of a role."""
    return {"prefill": ("input", "cached"), "decode": ("output",)}.get(role, KINDS)


def bill_of(
    spends: Sequence[Spend], usages: Sequence[Usage], weights: TokenWeights = DEFAULT_WEIGHTS
) -> tuple[Line, ...]:
    """Return one line per usage; all lines together are the fleet's spend, rounded to the cent once."""
    owed: list[float] = [0.0] * len(usages)
    unserved: dict[str, float] = {}
    for spend in spends:
        kinds = kinds_paid_by(spend.role)
        shares = [usage.tokens.weighted(weights, kinds) if usage.model == spend.model else 0.0 for usage in usages]
        whole = sum(shares)
        if whole <= 0:
            unserved[spend.model] = unserved.get(spend.model, 0.0) + spend.usd
            continue
        for place, share in enumerate(shares):
            owed[place] += share / whole * spend.usd
    lines: list[tuple[str, Usage | None]] = [(usage.model, usage) for usage in usages]
    lines += [(model, None) for model in sorted(unserved)]
    amounts = [*owed, *(unserved[model] for model in sorted(unserved))]
    cents = to_cents(amounts)
    return tuple(Line(model, usage, amount) for (model, usage), amount in zip(lines, cents, strict=True))


def to_cents(amounts: Sequence[float]) -> list[int]:
    """Return USD amounts as whole cents that add up to the rounded sum: the largest remainders are rounded up.

    >>> to_cents([0.333, 0.333, 0.334])
    [33, 33, 34]
    >>> sum(to_cents([1 / 3, 1 / 3, 1 / 3]))
    100
    """
    exact = [amount * 100 for amount in amounts]
    found = [floor(one) for one in exact]
    missing = round(sum(exact)) - sum(found)
    order = sorted(range(len(exact)), key=lambda place: (found[place] - exact[place], place))
    for place in order[:missing]:
        found[place] += 1
    return found

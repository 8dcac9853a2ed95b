"""The form of every dialect: rules that say which raw families are which canonical signal; pure data plus small hooks.

To add an engine: copy the nearest sibling, write its rules, add one line to the registry and a recorded page to the
tests. A rule never adds two names for the same thing: of its `raw` aliases the first that the page has is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from signals.pages import Series
from signals.spans import RequestHalf, Span

GAUGE, COUNTER, HISTOGRAM, INFO, NAMES = "gauge", "counter", "histogram", "info", "names"


@dataclass(frozen=True, slots=True)
class Rule:
    """One canonical signal and where it stands on this engine's page.

    raw: family names in order of preference, as the engine writes them (with or without `_total`).
    kind: gauge, counter, histogram, info (labels become facts), names (how many names a label of the newest
        series holds).
    where: label → allowed values; a series without the label passes only if "" is allowed.
    by: raw label → attribute kept on the canonical point.
    over: how a gauge's ranks become one number: sum, mean, max, first.
    scale: factor to base units. floor: values below it are sentinels and mean missing.
    sum_as, count_as: canonical counters fed by a histogram's sum and count.
    expected: `check` reports it as missing when the page lacks it.
    """

    signal: str
    raw: tuple[str, ...]
    kind: str = COUNTER
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    by: Mapping[str, str] = field(default_factory=dict)
    over: str = "sum"
    scale: float = 1.0
    floor: float | None = None
    sum_as: str | None = None
    count_as: str | None = None
    expected: bool = False
    facts: Mapping[str, str] = field(default_factory=dict)


def _no_halves(_spans: Iterable[Span]) -> list[RequestHalf]:
    """The engine sends no spans that describe requests."""
    return []


def _keep_all(_series: Series) -> bool:
    return True


def _no_label(_series: Series) -> str | None:
    return None


@dataclass(frozen=True, slots=True)
class Dialect:
    """One engine or gateway.

    prefixes: how its family names begin (after normalising `:` to `_`); used to detect it and to list unknown families.
    model_labels: labels that name the model, in order of preference. gateway: its page describes many models and
    tenants of other instances, so its points carry `gateway_` names and never mix with engine points.
    ranks: labels that tell ranks apart (they are summed, averaged or dropped by the rules).
    keep: whether a series counts at all (repeated tensor-parallel ranks do not). role: prefill, decode or both.
    halves: request halves in a batch of spans. version: engine version from a series' labels.
    paths: metric paths, the first is the default; never_get: paths that must not be fetched.
    """

    engine: str
    title: str
    prefixes: tuple[str, ...]
    rules: tuple[Rule, ...]
    model_labels: tuple[str, ...] = ("model_name",)
    gateway: bool = False
    ranks: tuple[str, ...] = ()
    keep: Callable[[Series], bool] = _keep_all
    role: Callable[[Series], str | None] = _no_label
    version: Callable[[Series], str | None] = _no_label
    halves: Callable[[Iterable[Span]], list[RequestHalf]] = _no_halves
    default_role: str | None = "both"
    paths: tuple[str, ...] = ("/metrics",)
    never_get: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    tested: bool = True

    def expected(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(rule.signal for rule in self.rules if rule.expected))


#: Prefixes that exporters in between put before an engine's own names.
REPREFIXERS = ("ray_", "kserve_")


def normal(name: str) -> str:
    """Return a family name without the spellings that vary between versions and exporters.

    >>> normal("vllm:prompt_tokens_total"), normal("ray_vllm_prompt_tokens")
    ('vllm_prompt_tokens', 'vllm_prompt_tokens')
    """
    plain = name.replace(":", "_").removesuffix("_total")
    for prefix in REPREFIXERS:
        rest = plain.removeprefix(prefix)
        if rest != plain and rest.startswith(("vllm_", "sglang_", "trtllm_")):
            return rest
    return plain

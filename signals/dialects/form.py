"""The form of every dialect: rules that say which raw families are which canonical signal; pure data plus small hooks.

To add an engine: copy the nearest sibling, write its rules, add one line to the registry and a recorded page to the
tests. A rule never adds two names for the same thing: of its `raw` aliases the first that the page has is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from signals.pages import Series
from signals.spans import RequestHalf, Span

GAUGE, COUNTER, HISTOGRAM = "gauge", "counter", "histogram"
#: INFO: labels become facts. VALUE: the value becomes the fact `signal`. NAMES: how many names a label holds.
INFO, VALUE, NAMES = "info", "value", "names"
#: In `where` and selectors: any value but none.
ANY = "*"


@dataclass(frozen=True, slots=True)
class Rule:
    """One canonical signal and where it stands on this engine's page; rules of one signal and attributes add up.

    raw: family names in order of preference, as the engine writes them (with or without `_total`); a name may carry a
        selector, `NAME{label=value|value}`, and may name one part of a histogram or summary (`NAME_sum`).
    kind: gauge, counter, histogram, info (labels become facts), value (the value becomes the fact named by `signal`),
        names (how many names a label of the newest series holds).
    where: label → allowed values; a series without the label passes only if "" is allowed; "*" is any value but none.
    by: raw label → attribute kept on the canonical point. attributes: constant ones that are added.
    over: how a gauge's ranks become one number: sum, mean, max, first; a counter's: sum or mean.
    scale: factor to base units. floor, ceiling: values below the one or from the other up are sentinels for missing.
    sum_as, count_as: canonical counters fed by a histogram's sum and count.
    facts: label → fact. adds: facts that are added up over ranks.
    unless: families; a page that has one of them says it better and the rule is skipped.
    every_rank: add up the ranks that repeat other counts too: each reports a share of this one.
    expected: `check` reports it as missing when the page lacks it, unless the page's role is in `absent_on`.
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
    attributes: Mapping[str, str] = field(default_factory=dict)
    every_rank: bool = False
    unless: tuple[str, ...] = ()
    ceiling: float | None = None
    absent_on: tuple[str, ...] = ()
    adds: tuple[str, ...] = ()


def _no_halves(_spans: Iterable[Span]) -> list[RequestHalf]:
    """The engine sends no spans that describe requests."""
    return []


def _keep_all(_series: Series) -> bool:
    return True


def _no_label(_series: Series) -> str | None:
    return None


def _as_written(_attribute: str, value: str) -> str:
    return value


def _no_line(_line: Mapping[str, object]) -> RequestHalf | None:
    return None


@dataclass(frozen=True, slots=True)
class Dialect:
    """One engine or gateway.

    prefixes: how its family names begin (after normalising `:` to `_`); used to detect it and to list unknown families.
    model_labels: labels that name the model, in order of preference. model_families: beginnings of the families that
    name the page's models, where other families count a request again under other models.
    modelless: series without a model are a group of their own, beside those of models.
    gateway: its page describes many models and tenants of other instances, so its points carry `gateway_` names and
    never mix with engine points.
    ranks: labels that tell ranks apart (they are summed, averaged or dropped by the rules).
    repeats: labels of ranks that repeat the same counts; of series that differ in nothing else the lowest is kept.
    keep: whether a series counts at all (repeated tensor-parallel ranks do not). role: prefill, decode or both.
    halves: request halves in a batch of spans. version: engine version from a series' labels.
    paths: metric paths, the first is the default; never_get: paths that must not be fetched.
    marks: beginnings of families that only this dialect's pages have, whatever else they repeat.
    attribute: (attribute, raw value) → value as it is kept. line: the request half of one line of a request log.
    private: labels that name people or secrets; the memory of a series that has one keeps a digest of its text.
    version_at: path and key of a JSON answer that names the version, for pages that do not.
    owners: what its `/v1/models` says under `owned_by`, which tells the engine without touching its metrics.
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
    repeats: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    attribute: Callable[[str, str], str] = _as_written
    line: Callable[[Mapping[str, object]], RequestHalf | None] = _no_line
    owners: tuple[str, ...] = ()
    private: tuple[str, ...] = ()
    version_at: tuple[str, str] | None = None
    model_families: tuple[str, ...] = ()
    modelless: bool = False

    @property
    def logs(self) -> bool:
        """Return whether it writes request logs."""
        return self.line is not _no_line

    def expected(self, role: str | None = None) -> tuple[str, ...]:
        """Return the signals that a page of a role must have."""
        wanted = (rule.signal for rule in self.rules if rule.expected and role not in rule.absent_on)
        return tuple(dict.fromkeys(wanted))


#: Prefixes that exporters in between put before an engine's own names.
REPREFIXERS = ("ray_", "kserve_")


def normal(name: str) -> str:
    """Return a family name without the spellings that vary between versions and exporters.

    >>> normal("vllm:prompt_tokens_total"), normal("ray_vllm_prompt_tokens")
    ('vllm_prompt_tokens', 'vllm_prompt_tokens')
    """
    plain = name.replace(":", "_").replace(".", "_").removesuffix("_total")
    for prefix in REPREFIXERS:
        rest = plain.removeprefix(prefix)
        if rest != plain and rest.startswith(("vllm_", "sglang_", "trtllm_", "lmcache_")):
            return rest
    return plain


def per_gpu_estimates(engine: str) -> tuple[Rule, ...]:
    """Return the rules of the estimates that vLLM and SGLang share; flat 0 where the engine's flag for them is off."""
    names = ("estimated_flops_per_gpu", "estimated_read_bytes_per_gpu", "estimated_write_bytes_per_gpu")
    return tuple(Rule(name, (f"{engine}:{name}_total",), over="mean", every_rank=True) for name in names)


@lru_cache(maxsize=4096)
def selector(raw: str) -> tuple[str, tuple[tuple[str, tuple[str, ...]], ...]]:
    """Return the normal family name and the label conditions of one `raw` entry.

    >>> selector("sglang:cached_tokens_total{cache_source=device|host}")
    ('sglang_cached_tokens', (('cache_source', ('device', 'host')),))
    """
    name, _, rest = raw.partition("{")
    pairs = [part.partition("=") for part in rest.removesuffix("}").split(",") if part]
    return normal(name), tuple((label, tuple(values.split("|"))) for label, _, values in pairs)


def allowed(conditions: Iterable[tuple[str, tuple[str, ...]]], labels: Mapping[str, str]) -> bool:
    """Return whether labels satisfy every condition; a missing label counts as ""."""
    for label, values in conditions:
        value = labels.get(label, "")
        if value not in values and not (value and ANY in values):
            return False
    return True


def families(prefix: str, text: str) -> tuple[str, ...]:
    """Return the words of a text, each behind `prefix`: a list of families that reads well.

    >>> families("vllm:", "a b")
    ('vllm:a', 'vllm:b')
    """
    return tuple(prefix + word for word in text.split())

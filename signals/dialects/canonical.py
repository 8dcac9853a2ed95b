"""sloscope's own words: what a trainer, a KV pool or a gateway of your own writes on a page or sends as OTLP.

Families are `sloscope_NAME` (or `sloscope.NAME`) for every signal of the catalog, counters with or without `_total`,
durations as a histogram or as the counters `NAME_sum` and `NAME_count`. Labels in `ATTRIBUTES` are kept, `model` and
`role` name the group, and all others are added up.
"""

from __future__ import annotations

from signals.catalog import COUNTER as COUNTERS
from signals.catalog import GAUGE as GAUGES
from signals.catalog import SIGNALS, Signal
from signals.dialects.canonical_requests import halves
from signals.dialects.form import COUNTER, GAUGE, HISTOGRAM, Dialect, Rule
from signals.pages import Series

PREFIX = "sloscope_"
#: Labels that tell points of one signal apart; the documents of the signals say which have which.
ATTRIBUTES = (
    "adapter", "application", "deployment", "from", "kind", "length_bucket", "mode", "operation", "outcome", "phase",
    "pool", "position", "priority", "reason", "region", "requested_model", "residency", "route", "scorer", "source",
    "stage", "status", "tenant", "tenant_id", "tier", "to", "what", "worker", "worker_role",
)  # fmt: skip
_BY = {name: name for name in ATTRIBUTES}


def _rules(signal: Signal) -> list[Rule]:
    family = PREFIX + signal.name
    if signal.kind == GAUGES:
        return [Rule(signal.name, (family, f"{family}_current"), GAUGE, by=_BY)]
    if signal.kind == COUNTERS:
        return [Rule(signal.name, (family,), COUNTER, by=_BY)]
    counted = [
        Rule(f"{signal.name}_{part}", (f"{family}_{part}",), COUNTER, by=_BY, unless=(f"{family}_bucket",))
        for part in ("sum", "count")
        if f"{signal.name}_{part}" not in SIGNALS
    ]
    return [Rule(signal.name, (family,), HISTOGRAM, by=_BY), *counted]


RULES: tuple[Rule, ...] = tuple(rule for signal in SIGNALS.values() for rule in _rules(signal))


def _role(series: Series) -> str | None:
    return series.labels.get("role")


CANONICAL = Dialect(
    engine="sloscope",
    title="Canonical signals",
    prefixes=(PREFIX,),
    marks=(PREFIX,),
    rules=RULES,
    model_labels=("model",),
    modelless=True,
    role=_role,
    default_role=None,
    halves=halves,
    ignored=("sloscope_up",),
    tested=False,
)

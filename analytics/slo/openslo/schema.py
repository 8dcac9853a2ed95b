"""The keys of OpenSLO v1 and of our own metric sources, as data; checks nothing.

OpenSLO/OpenSLO, README of v1. Free-form in the standard and typed here: `spec` of a metric source.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

API_VERSION = "openslo/v1"
#: Documents of ours that OpenSLO has no kind for.
OUR_API_VERSION = "sloscope/v1"
ANNOTATION_PREFIX = "sloscope.io/"
#: Annotations of ours: on an SLO, and on an AlertCondition.
ANNOTATIONS: tuple[str, ...] = ("sloscope.io/burn-windows", "sloscope.io/min-events", "sloscope.io/short-window")
#: Types of metric source that mean "this product's store".
SOURCE_TYPES: tuple[str, ...] = ("sloscope", "duckdb")


@dataclass(frozen=True, slots=True)
class Field:
    """What a key may hold. `shape`: string, number, bool, scalar, scalars (one or a list), map, list or free."""

    shape: str
    required: bool = False
    keys: Mapping[str, Field] = field(default_factory=dict)
    item: Field | None = None
    values: tuple[str, ...] = ()


def _text(*, required: bool = False, values: tuple[str, ...] = ()) -> Field:
    return Field("string", required, values=values)


def _map(keys: Mapping[str, Field], *, required: bool = False) -> Field:
    return Field("map", required, keys)


def _list(item: Field, *, required: bool = False) -> Field:
    return Field("list", required, item=item)


FREE = Field("free")
NUMBER = Field("number")
BOOL = Field("bool")
TEXT = _text()

METADATA = _map(
    {"name": _text(required=True), "displayName": TEXT, "labels": FREE, "annotations": FREE},
    required=True,
)
INLINE_METADATA = _map({"name": TEXT, "displayName": TEXT, "labels": FREE, "annotations": FREE})

THRESHOLD = {"metric": TEXT, "le": NUMBER, "le_by_length": FREE}
SOURCE_SPEC = _map(
    {
        **THRESHOLD,
        "thresholds": _list(_map(THRESHOLD)),
        "preset": TEXT,
        "filters": FREE,
        "by": Field("scalars"),
    }
)
METRIC_SOURCE = _map({"metricSourceRef": TEXT, "type": TEXT, "spec": SOURCE_SPEC}, required=True)
METRIC = _map({"metricSource": METRIC_SOURCE})
RATIO = _map(
    {
        "counter": BOOL,
        "good": METRIC,
        "bad": METRIC,
        "total": METRIC,
        "rawType": _text(values=("success", "failure")),
        "raw": METRIC,
    }
)
SLI_SPEC = _map({"description": TEXT, "thresholdMetric": METRIC, "ratioMetric": RATIO}, required=True)
INDICATOR = _map({"metadata": INLINE_METADATA, "spec": SLI_SPEC})

CONDITION = _map(
    {
        "kind": _text(required=True, values=("burnrate",)),
        "op": _text(values=("gt", "gte")),
        "threshold": Field("number", True),
        "lookbackWindow": _text(required=True),
        "alertAfter": TEXT,
    },
    required=True,
)
CONDITION_SPEC = _map(
    {"description": TEXT, "severity": _text(required=True, values=("page", "ticket")), "condition": CONDITION},
    required=True,
)
CONDITION_ENTRY = _map(
    {
        "conditionRef": TEXT,
        "operator": TEXT,
        "kind": _text(values=("AlertCondition",)),
        "metadata": INLINE_METADATA,
        "spec": Field("map", keys=CONDITION_SPEC.keys),
    }
)
POLICY_SPEC = _map(
    {
        "description": TEXT,
        "alertWhenNoData": BOOL,
        "alertWhenBreaching": BOOL,
        "alertWhenResolved": BOOL,
        "conditions": _list(CONDITION_ENTRY, required=True),
        "notificationTargets": _list(
            _map({"targetRef": TEXT, "kind": TEXT, "metadata": INLINE_METADATA, "spec": FREE})
        ),
    },
    required=True,
)
POLICY_ENTRY = _map(
    {
        "alertPolicyRef": TEXT,
        "kind": _text(values=("AlertPolicy",)),
        "metadata": INLINE_METADATA,
        "spec": Field("map", keys=POLICY_SPEC.keys),
    }
)
OBJECTIVE = _map(
    {
        "displayName": TEXT,
        "op": _text(values=("lte", "lt", "gte", "gt")),
        "value": NUMBER,
        "target": NUMBER,
        "targetPercent": NUMBER,
        "timeSliceTarget": NUMBER,
        "timeSliceWindow": TEXT,
        "indicator": FREE,
        "indicatorRef": TEXT,
        "compositeWeight": NUMBER,
    }
)
WINDOW = _map(
    {
        "duration": _text(required=True),
        "isRolling": BOOL,
        "calendar": _map({"startTime": TEXT, "timeZone": TEXT}),
    }
)
SLO_SPEC = _map(
    {
        "description": TEXT,
        "service": _text(required=True),
        "indicator": INDICATOR,
        "indicatorRef": TEXT,
        "timeWindow": _list(WINDOW, required=True),
        "budgetingMethod": _text(required=True, values=("Occurrences", "Timeslices", "RatioTimeslices")),
        "objectives": _list(OBJECTIVE, required=True),
        "alertPolicies": _list(POLICY_ENTRY),
    },
    required=True,
)
EXCLUSION_SPEC = _map(
    {
        "from": TEXT,
        "to": TEXT,
        "filters": FREE,
        "reason": _text(required=True),
        "decidedBy": _text(required=True),
        "objectives": Field("scalars"),
    },
    required=True,
)
SILENCE_SPEC = _map(
    {
        "match": Field("free", True),
        "from": _text(required=True),
        "to": _text(required=True),
        "reason": _text(required=True),
        "decidedBy": _text(required=True),
    },
    required=True,
)


def _document(spec: Field) -> Field:
    return _map(
        {"apiVersion": _text(required=True), "kind": _text(required=True), "metadata": METADATA, "spec": spec},
    )


#: Every kind of document by name.
KINDS: Mapping[str, Field] = {
    "SLO": _document(SLO_SPEC),
    "SLI": _document(SLI_SPEC),
    "Service": _document(_map({"description": TEXT})),
    "AlertPolicy": _document(POLICY_SPEC),
    "AlertCondition": _document(CONDITION_SPEC),
    "AlertNotificationTarget": _document(_map({"description": TEXT, "target": _text(required=True)}, required=True)),
    "DataSource": _document(
        _map({"description": TEXT, "type": _text(required=True), "connectionDetails": FREE}, required=True)
    ),
    "Exclusion": _document(EXCLUSION_SPEC),
    "Silence": _document(SILENCE_SPEC),
}
OUR_KINDS: tuple[str, ...] = ("Exclusion", "Silence")

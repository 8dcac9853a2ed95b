"""Finds what is known to go wrong in KEDA ScaledObjects and HPAs for inference pools; reads documents, changes none."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import yaml

from analytics.scaling.manifests import manifests
from signals.errors import InputError

__all__ = ["Finding", "lint", "manifests"]

Document = Mapping[str, object]

#: An aggregation that leaves one series (KEDA's prometheus scaler refuses more than one).
_AGGREGATED = re.compile(r"^\s*(sum|max|min|avg|count|quantile|scalar|topk\s*\(\s*1|clamp_\w+\s*\(\s*(sum|max|avg))\b")
#: Time shares that do not map to latency: decode saturates them at any load.
_GPU_UTILISATION = re.compile(r"DCGM_FI_DEV_GPU_UTIL|DCGM_FI_PROF_GR_ENGINE_ACTIVE|gpu_util", re.IGNORECASE)
#: Part of the url that reads a recommendation.
_OURS = "/scaling/keda"
#: Streams of minutes need more than Kubernetes' 30 s to end.
GRACE_SECONDS = 120


Severity = Literal["error", "warning", "note"]

#: Rule: severity, what goes wrong ({0} is the fact found), what to do.
_TEXTS: dict[str, tuple[Severity, str, str]] = {
    "many-series": (
        "error",
        "the query {0!r} gives one series per pod and KEDA refuses more than one: scaling stops with the second pod",
        "wrap it in sum(...) or max(...)",
    ),
    "nothing-is-zero": (
        "error",
        "an empty result counts as 0: lost pages scale the pool to its minimum at peak",
        'set ignoreNullValues: "false"',
    ),
    "gpu-utilisation": (
        "warning",
        "GPU utilisation is a share of time with any work: decode keeps it high at every load",
        "scale on queue, requests in flight or a recommendation",
    ),
    "no-value-location": ("error", "valueLocation is missing", "set valueLocation: replicas"),
    "target-not-one": (
        "error",
        "the number is already the replicas, a target of {0!r} divides it",
        'use an AverageValue target of "1"',
    ),
    "value-not-average": (
        "error",
        "metricType {0} multiplies the number by the replicas that are there",
        "set metricType: AverageValue",
    ),
    "no-pool": ("error", "the url names no pool", "append ?pool=NAME"),
    "no-fallback": (
        "warning",
        "no fallback: while the source is away the HPA stands still and a new ScaledObject knows no number",
        "set fallback with behavior: currentReplicasIfHigher",
    ),
    "fallback-shrinks": (
        "warning",
        "fallback sends the pool to {0} replicas exactly when nothing is seen",
        "set fallback.behavior: currentReplicasIfHigher",
    ),
    "no-maximum": (
        "warning",
        "maxReplicaCount is missing: KEDA's default is 100",
        "set it to what quota and budget allow",
    ),
    "cooldown-is-for-zero": (
        "note",
        "cooldownPeriod only concerns the step from one to zero",
        "slow scale-down by the HPA's behavior, or leave it to the recommender",
    ),
    "damped-twice": (
        "warning",
        "the HPA holds scale-down for {0} s on top of the recommender's own calm",
        "set behavior.scaleDown.stabilizationWindowSeconds: 0",
    ),
    "within-tolerance": (
        "warning",
        "an HPA ignores changes within 10 %: from 10 replicas on, one more or fewer is never done",
        "set behavior.*.tolerance: 0 (Kubernetes 1.33), or read the number with beyond_tolerance=true",
    ),
    "short-grace": (
        "warning",
        "a pod has {0} s to end its streams when it goes",
        f"set terminationGracePeriodSeconds to {GRACE_SECONDS} or more and drain in preStop",
    ),
    "two-scalers": ("error", "{0} scalers drive the same target", "keep one"),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One misconfiguration: `error` breaks scaling, `warning` bites under load, `note` is worth knowing."""

    severity: Severity
    rule: str
    where: str
    problem: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.severity}: {self.where}: {self.problem}; {self.remedy} [{self.rule}]"

    def to_dict(self) -> dict[str, object]:
        return {
            "severity": self.severity,
            "rule": self.rule,
            "where": self.where,
            "problem": self.problem,
            "remedy": self.remedy,
        }


def lint(given: str | Sequence[object]) -> tuple[Finding, ...]:
    """Return the findings of YAML text or of parsed documents, errors first; other kinds are passed over.

    Raises InputError for text that is not YAML.
    """
    documents = _parsed(given) if isinstance(given, str) else given
    known = [document for document in documents if isinstance(document, Mapping)]
    found: list[Finding] = []
    for document in known:
        for rule in _RULES.get(str(document.get("kind")), ()):
            found.extend(rule(document))
    found.extend(_rivals(known))
    order = {"error": 0, "warning": 1, "note": 2}
    return tuple(sorted(found, key=lambda finding: (order[finding.severity], finding.where, finding.rule)))


def _parsed(text: str) -> list[object]:
    try:
        return list(yaml.safe_load_all(text))
    except yaml.YAMLError as error:
        raise InputError(f"not YAML: {error}") from error


def _triggers(document: Document) -> Iterator[tuple[str, str, Document, Document]]:
    """Yield (where, type, trigger, its metadata)."""
    triggers = _spec(document).get("triggers")
    for place, trigger in enumerate(triggers if isinstance(triggers, list) else []):
        if isinstance(trigger, Mapping):
            yield (
                f"{_name(document)}.triggers[{place}]",
                str(trigger.get("type")),
                trigger,
                _map(trigger.get("metadata")),
            )


def _prometheus(document: Document) -> Iterator[Finding]:
    for where, kind, _, metadata in _triggers(document):
        if kind != "prometheus":
            continue
        query = str(metadata.get("query", ""))
        if not _AGGREGATED.match(query):
            yield _found("many-series", where, query)
        if str(metadata.get("ignoreNullValues", "true")).lower() != "false":
            yield _found("nothing-is-zero", where)
        if _GPU_UTILISATION.search(query):
            yield _found("gpu-utilisation", where)


def _metrics_api(document: Document) -> Iterator[Finding]:
    for where, kind, trigger, metadata in _triggers(document):
        if kind != "metrics-api":
            continue
        url = str(metadata.get("url", ""))
        if "valueLocation" not in metadata:
            yield _found("no-value-location", where)
        if _OURS not in url:
            continue
        if str(metadata.get("targetValue")) != "1":
            yield _found("target-not-one", where, metadata.get("targetValue"))
        if trigger.get("metricType", "AverageValue") != "AverageValue":
            yield _found("value-not-average", where, trigger.get("metricType"))
        if "pool=" not in url:
            yield _found("no-pool", where)


def _scaled_object(document: Document) -> Iterator[Finding]:
    where, spec = _name(document), _spec(document)
    fallback = _map(spec.get("fallback"))
    if not fallback:
        yield _found("no-fallback", where)
    elif fallback.get("behavior", "static") in ("static", "currentReplicasIfLower"):
        yield _found("fallback-shrinks", where, fallback.get("replicas"))
    if "maxReplicaCount" not in spec:
        yield _found("no-maximum", where)
    if "cooldownPeriod" in spec and spec.get("minReplicaCount", 0) != 0:
        yield _found("cooldown-is-for-zero", where)
    advanced = _map(_map(spec.get("advanced")).get("horizontalPodAutoscalerConfig"))
    if any(_OURS in str(metadata.get("url", "")) for _, _, _, metadata in _triggers(document)):
        yield from _follows(where, _map(advanced.get("behavior")), spec.get("maxReplicaCount", 100))


def _autoscaler(document: Document) -> Iterator[Finding]:
    where, spec = _name(document), _spec(document)
    metrics = spec.get("metrics")
    for metric in metrics if isinstance(metrics, list) else []:
        external = _map(_map(metric).get("external"))
        name = str(_map(external.get("metric")).get("name", ""))
        target = _map(external.get("target"))
        if name == "sloscope_desired_replicas":
            if target.get("type") != "AverageValue" or str(target.get("averageValue")) != "1":
                yield _found("target-not-one", where, target.get("averageValue", target.get("value")))
            yield from _follows(where, _map(spec.get("behavior")), spec.get("maxReplicas", 100))
        if _GPU_UTILISATION.search(name):
            yield _found("gpu-utilisation", where)


def _follows(where: str, behavior: Document, largest: object) -> Iterator[Finding]:
    """What an HPA that follows a recommendation must not do on its own."""
    sides = {side: _map(behavior.get(side)) for side in ("scaleUp", "scaleDown")}
    window = sides["scaleDown"].get("stabilizationWindowSeconds", 300)
    if window != 0:
        yield _found("damped-twice", where, window)
    tolerant = any(str(rules.get("tolerance")) not in ("0", "0.0") for rules in sides.values())
    if tolerant and (not isinstance(largest, int) or largest >= 10):
        yield _found("within-tolerance", where)


def _deployment(document: Document) -> Iterator[Finding]:
    pod = _map(_map(_spec(document).get("template")).get("spec"))
    containers = pod.get("containers")
    listed = containers if isinstance(containers, list) else []
    grace = pod.get("terminationGracePeriodSeconds", 30)
    serves = any("nvidia.com/gpu" in str(_map(one).get("resources")) for one in listed)
    if serves and isinstance(grace, int) and grace < GRACE_SECONDS:
        yield _found("short-grace", _name(document), grace)


def _rivals(documents: Sequence[Document]) -> Iterator[Finding]:
    """Two scalers on one target pull against each other."""
    targets: Counter[tuple[str, str]] = Counter()
    for document in documents:
        if document.get("kind") in ("ScaledObject", "HorizontalPodAutoscaler"):
            reference = _map(_spec(document).get("scaleTargetRef"))
            space = str(_map(document.get("metadata")).get("namespace", "default"))
            targets[space, str(reference.get("name"))] += 1
    for (space, name), count in targets.items():
        if count > 1:
            yield _found("two-scalers", f"{space}/{name}", count)


def _found(rule: str, where: str, fact: object = None) -> Finding:
    severity, problem, remedy = _TEXTS[rule]
    return Finding(severity, rule, where, problem.format(fact), remedy)


_RULES: dict[str, tuple[Callable[[Document], Iterator[Finding]], ...]] = {
    "ScaledObject": (_prometheus, _metrics_api, _scaled_object),
    "HorizontalPodAutoscaler": (_autoscaler,),
    "Deployment": (_deployment,),
    "StatefulSet": (_deployment,),
}


def _map(value: object) -> Document:
    return value if isinstance(value, Mapping) else {}


def _spec(document: Document) -> Document:
    return _map(document.get("spec"))


def _name(document: Document) -> str:
    return f"{document.get('kind')}/{_map(document.get('metadata')).get('name', '?')}"

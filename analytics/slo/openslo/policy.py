"""Reads alert policies and the burn-windows annotation into burn rules; refuses rules that can never fire."""

from __future__ import annotations

import re
from collections.abc import Mapping

from analytics.slo.alerting import BurnRule, impossible, workbook_rules
from analytics.slo.openslo.duration import duration_seconds
from analytics.slo.openslo.fault import Fault
from analytics.slo.openslo.node import Node
from signals.errors import nearest

BURN_WINDOWS = "sloscope.io/burn-windows"
SHORT_WINDOW = "sloscope.io/short-window"
#: The workbook's ratio: the short window is a twelfth of the long one.
SHORT_RATIO = 12
_RULE = re.compile(r"(page|ticket)\s+([0-9]+[smhdw])/([0-9]+[smhdw])\s+([0-9]+(?:\.[0-9]+)?)")


def read_rules(
    slo: Node,
    documents: Mapping[str, Mapping[str, Node]],
    target: float,
    window_seconds: int,
    faults: list[Fault],
) -> tuple[BurnRule, ...] | None:
    """Return the rules of an SLO document: its policies, else its annotation, else None (automatic)."""
    policies = slo.at("spec", "alertPolicies")
    annotation = slo.at("metadata", "annotations", BURN_WINDOWS)
    placed: list[tuple[Node, BurnRule]] = []
    for entry in policies.items if policies is not None else ():
        placed += _policy_rules(entry, documents, faults)
    if annotation is not None:
        if policies is not None:
            faults.append(annotation.fault("does not go with alertPolicies: give the rules once"))
        else:
            placed += _annotated_rules(annotation, window_seconds, faults)
    if policies is None and annotation is None:
        return None
    for node, rule in placed:
        if (why := impossible(rule, target)) is not None:
            faults.append(node.fault(why))
        if rule.long_seconds >= window_seconds:
            faults.append(node.fault("looks back at least as far as the objective's own window"))
    return tuple(rule for _, rule in placed)


def _policy_rules(
    entry: Node, documents: Mapping[str, Mapping[str, Node]], faults: list[Fault]
) -> list[tuple[Node, BurnRule]]:
    reference = entry.get("alertPolicyRef")
    policy = entry
    if reference is not None:
        known = documents.get("AlertPolicy", {})
        if reference.text not in known:
            faults.append(
                reference.fault(f"no AlertPolicy is called {reference.text!r}{nearest(reference.text, known)}")
            )
            return []
        policy = known[reference.text]
    elif entry.get("spec") is None:
        faults.append(entry.fault("needs alertPolicyRef or an inline spec", key="alertPolicyRef"))
        return []
    conditions = policy.at("spec", "conditions")
    if conditions is None or conditions.kind != "list":
        return []
    if len(conditions.items) > 1:
        faults.append(conditions.fault("OpenSLO v1 allows exactly one condition in a policy"))
    found = []
    for condition in conditions.items[:1]:
        placed = _condition_rule(condition, documents, faults)
        if placed is not None:
            found.append(placed)
    return found


def _condition_rule(
    entry: Node, documents: Mapping[str, Mapping[str, Node]], faults: list[Fault]
) -> tuple[Node, BurnRule] | None:
    reference, condition = entry.get("conditionRef"), entry
    if reference is not None:
        known = documents.get("AlertCondition", {})
        if reference.text not in known:
            found = nearest(reference.text, known)
            faults.append(reference.fault(f"no AlertCondition is called {reference.text!r}{found}"))
            return None
        condition = known[reference.text]
    elif entry.get("spec") is None:
        faults.append(entry.fault("needs conditionRef or an inline spec", key="conditionRef"))
        return None
    severity, inner = condition.at("spec", "severity"), condition.at("spec", "condition")
    if severity is None or inner is None:
        return None
    threshold, lookback = inner.get("threshold"), inner.get("lookbackWindow")
    if threshold is None or lookback is None:
        return None
    long, factor = duration_seconds(lookback.text), threshold.number()
    if long is None or long < 60:
        faults.append(lookback.fault("must be a duration of at least a minute, such as 1h"))
        return None
    if factor is None or factor <= 0:
        faults.append(threshold.fault("must be a positive burn rate"))
        return None
    after = inner.get("alertAfter")
    if after is not None and duration_seconds(after.text) != 0:
        faults.append(after.fault("is not supported except 0m: the two windows already wait"))
    short = long // SHORT_RATIO
    annotation = condition.at("metadata", "annotations", SHORT_WINDOW)
    if annotation is not None:
        given = duration_seconds(annotation.text)
        if given is None or not 0 < given < long:
            faults.append(annotation.fault("must be a duration shorter than lookbackWindow, such as 5m"))
            return None
        short = given
    return threshold, BurnRule(severity.text, long, short, factor)


def _annotated_rules(node: Node, window_seconds: int, faults: list[Fault]) -> list[tuple[Node, BurnRule]]:
    if node.text.strip() == "workbook":
        return [(node, rule) for rule in workbook_rules(window_seconds)]
    found = []
    for part in node.text.split(","):
        match = _RULE.fullmatch(part.strip())
        long = None if match is None else duration_seconds(match[2])
        short = None if match is None else duration_seconds(match[3])
        if match is None or long is None or short is None:
            faults.append(
                node.fault(
                    f"{part.strip()!r} is no rule: write workbook, or rules such as 'page 1h/5m 14.4, ticket 3d/6h 1'"
                )
            )
        elif not 0 < short < long:
            faults.append(node.fault(f"{part.strip()!r}: the short window must be shorter than the long one"))
        elif float(match[4]) <= 0:
            faults.append(node.fault(f"{part.strip()!r}: the burn rate must be positive"))
        else:
            found.append((node, BurnRule(match[1], long, short, float(match[4]))))
    return found

"""Objectives, goodput, error budgets, quantiles, cost."""

from analytics.slo.alerting import BurnRule, Firing, WindowCounts, automatic_rules, firing, impossible, workbook_rules
from analytics.slo.bin_quantiles import merge_bins, quantiles_of_bins
from analytics.slo.burn import (
    Budget,
    budget,
    burn_rate,
    error_budget_ratio,
    highest_burn_rate,
    lowest_target,
    seconds_to_exhaustion,
    wilson_interval,
)
from analytics.slo.edge_quantiles import quantiles_of_edges, share_within
from analytics.slo.eligibility import verdict, verdicts
from analytics.slo.exclusion import Exclusion
from analytics.slo.objective import DIMENSIONS, METRICS, Objective, Threshold, default_objective
from analytics.slo.quantile import Quantile
from analytics.slo.record_quantiles import quantiles_of_records

__all__ = [
    "DIMENSIONS",
    "METRICS",
    "Budget",
    "BurnRule",
    "Exclusion",
    "Firing",
    "Objective",
    "Quantile",
    "Threshold",
    "WindowCounts",
    "automatic_rules",
    "budget",
    "burn_rate",
    "default_objective",
    "error_budget_ratio",
    "firing",
    "highest_burn_rate",
    "impossible",
    "lowest_target",
    "merge_bins",
    "quantiles_of_bins",
    "quantiles_of_edges",
    "quantiles_of_records",
    "seconds_to_exhaustion",
    "share_within",
    "verdict",
    "verdicts",
    "wilson_interval",
    "workbook_rules",
]

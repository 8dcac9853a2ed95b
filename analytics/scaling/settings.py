"""The recommender's thresholds as data, each with its reason; one default serves every pool."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Settings:
    """Thresholds of `decide`; seconds and ratios."""

    #: Missed scrapes before a pool counts as blind (Prometheus calls a series stale after 5 minutes; we are stricter).
    blind_after_intervals: float = 4.0
    blind_after_seconds: float = 60.0
    #: Share of the expected instances that must report before anything may shrink; the rest is taken to be as loaded.
    reporting_ratio: float = 0.98
    #: Demand quantile to begin with, by the share of the error budget that is left (-1 = spent twice); between, linear.
    quantiles: tuple[tuple[float, float], ...] = ((-1.0, 0.999), (0.0, 0.995), (0.3, 0.99), (1.0, 0.986))
    #: The same where no budget is known.
    quantile_unknown: float = 0.986
    #: Added to that quantile's normal score per second of cold start: a longer start makes a longer miss.
    score_per_second: float = 0.0012
    #: From there on the budget steers: per hour at burn rate 1 above what is allowed, the score rises by this much (and
    #: falls by it per hour in which nothing burns); less for cold starts beyond `steady_seconds`, as misses are rarer
    #: and larger then.
    steering_per_hour: float = 0.015
    steady_seconds: float = 270.0
    #: Burn rate beyond which an hour teaches no more: an outage that no head-room would have covered is one event.
    burn_most: float = 30.0
    #: Bounds of the steered score: below the median noise decides; beyond P99.9 the tail is a straight line.
    scores: tuple[float, float] = (-1.0, 3.4)
    #: A burn rate of 1 is allowed while at least this share of the budget is left, less below it.
    budget_kept_ratio: float = 0.5
    #: Share of the highest level of three hours that stays ready whatever the forecast says (traffic that falls away at
    #: once comes back at once), more of it the longer a start takes, up to the last figure.
    return_ratio: float = 0.15
    return_per_second: float = 1 / 3000
    return_most: float = 0.6
    #: KV usage above which the scheduler starts to preempt or hold back admissions (llm-d WVA saturates at 0.80).
    kv_usage_ratio: float = 0.85
    #: Share of the TTFT objective at which a rising tail counts as a warning.
    ttft_warning_ratio: float = 0.8
    #: A backlog is to be worked off within this time once the new instances serve.
    drain_seconds: float = 3.0
    #: A backlog asks for at most this many times what the demand itself needs (it grows until the new ones serve).
    backlog_ratio: float = 1.85
    #: Growth by less than this share of the fleet waits: capacity is not known better.
    step_up_least_ratio: float = 0.07
    #: Largest growth in one decision, as a multiple of what serves; a fault of the sight grows no further.
    step_up_ratio: float = 3.0
    step_up_instances: int = 4
    #: A scale-down needs the need to have stayed low this long, and so many cold starts.
    calm_seconds: float = 150.0
    calm_cold_starts: float = 1.3
    #: No reversal within this time and so many cold starts of an up.
    settle_seconds: float = 400.0
    settle_cold_starts: float = 0.5
    #: Instances are given back only where the need lies below the fleet by this share, or by one whole unit.
    slack_ratio: float = 0.06
    #: Largest share of the fleet given back in one decision.
    step_down_ratio: float = 0.15
    #: Idle time before a pool with min 0 goes to zero, in cold starts (break-even: holding costs what starting costs).
    zero_after_cold_starts: float = 10.0
    #: Disagreement between the forecast need and Little's law that lowers confidence.
    little_tolerance_ratio: float = 0.3
    #: Unschedulable instances are waited for this long, then asked for elsewhere.
    unschedulable_patience_seconds: float = 900.0
    valid_seconds: float = 60.0


DEFAULT = Settings()

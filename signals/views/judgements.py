"""What sloscope concluded: objective counts, scaling decisions, incidents."""

from __future__ import annotations

from signals.schema import View, columns

OBJECTIVE_COUNTS = View(
    "objective_counts",
    "Good and bad events of each objective by minute.",
    columns("""
ts TIMESTAMPTZ !* : minute
objective VARCHAR !*
revision INTEGER !
model VARCHAR
tenant VARCHAR
length_bucket VARCHAR
model_version VARCHAR
region VARCHAR
adapter VARCHAR
good BIGINT !
bad BIGINT !
excluded BIGINT !
unattributed_bad BIGINT !
exact BOOLEAN ! : counted from requests, not estimated from edges
"""),
    importable=False,
)

RECOMMENDATIONS = View(
    "recommendations",
    "Every scaling decision with its reasons, graded later.",
    columns("""
ts TIMESTAMPTZ !*
pool VARCHAR !*
model VARCHAR
role VARCHAR
region VARCHAR
current INTEGER
proposed INTEGER
action VARCHAR ! : up, down, hold, hold_blind or pinned
binding VARCHAR
confidence DOUBLE
valid_until TIMESTAMPTZ
document VARCHAR ! : the whole decision as JSON
grade VARCHAR : given once the horizon has passed
"""),
    importable=False,
)

INCIDENTS = View(
    "incidents",
    "Spikes found by the incident job, de-duplicated; people add their verdict.",
    columns("""
incident VARCHAR !*
model VARCHAR
metric VARCHAR
started_at TIMESTAMPTZ !*
ended_at TIMESTAMPTZ
stage VARCHAR
cause VARCHAR
confidence DOUBLE
document VARCHAR ! : the whole explanation as JSON
human_verdict VARCHAR
human_note VARCHAR
"""),
    importable=False,
)

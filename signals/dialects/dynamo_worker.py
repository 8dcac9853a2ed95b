"""Dynamo's words on a worker's system page, which repeats its engine's own families (`vllm:*`, `sglang:*`, `trtllm_*`).

A worker and the engine inside it are one instance: the engine's families say what they say on the engine's own page,
Dynamo's only fill in what the engine does not say, so nothing counts twice. An engine that is also scraped directly
would: `registry.repeated` names the engine whose families a page repeats. The families of a mocker appear after its
first request. Names are from Dynamo 1.6.1 and recorded workers.
"""

from __future__ import annotations

from dataclasses import replace

from signals.dialects import sglang, trtllm, vllm
from signals.dialects.form import COUNTER, GAUGE, INFO, VALUE, Dialect, Rule
from signals.pages import Series

_OWN = "dynamo_component_"
_GENERATE = "{dynamo_endpoint=generate}"
#: What the engine says, under its own names; a worker has one engine, so at most one of these sets is on a page.
ENGINE_RULES: tuple[Rule, ...] = tuple(
    replace(rule, expected=False) for rule in (*vllm.RULES, *sglang.RULES, *trtllm.RULES)
)


def _fallback(signal: str, raw: str, kind: str = COUNTER, **attributes: str) -> Rule:
    """Return a rule that speaks only where no engine family says the same."""
    said = tuple(name for rule in ENGINE_RULES if rule.signal == signal for name in rule.raw)
    return Rule(signal, (_OWN + raw,), kind, attributes=attributes, unless=said, expected=kind == GAUGE)


RULES: tuple[Rule, ...] = (
    _fallback("running", f"inflight_requests{_GENERATE}", GAUGE),
    _fallback("finished", f"request_duration_seconds_count{_GENERATE}"),
    _fallback("finished_by_reason", f"cancellation_total{_GENERATE}", reason="abort"),
    replace(_fallback("kv_usage_ratio", "gpu_cache_usage_percent", GAUGE), over="mean", expected=False),
    replace(_fallback("kv_usage_max_ratio", "gpu_cache_usage_percent", GAUGE), over="max", expected=False),
    Rule("worker_errors", (f"{_OWN}errors_total",), by={"error_type": "reason"}),
    Rule("rejected", ("dynamo_work_handler_enqueue_rejected_total",)),
    Rule("rejected", ("dynamo_rejection_request_total",)),
    Rule("kv_blocks", (f"{_OWN}total_blocks",), VALUE),
    Rule("identity", (f"{_OWN}uptime_seconds",), INFO, facts={"worker_id": "worker_id"}),
    Rule("identity", (f"{_OWN}requests_total",), INFO,
         facts={"dynamo_namespace": "dynamo_namespace", "dynamo_component": "dynamo_component"}),
    *(
        Rule("kv_tier_blocks_moved", (f"kvbm_{name}", f"{_OWN}kvbm_{name}"), attributes={"from": source, "to": target})
        for name, source, target in (
            ("offload_blocks_d2h", "device", "host"), ("offload_blocks_h2d", "host", "disk"),
            ("offload_blocks_d2d", "device", "disk"), ("onboard_blocks_h2d", "host", "device"),
            ("onboard_blocks_d2d", "disk", "device"), ("offload_blocks_d2o", "device", "object"),
            ("onboard_blocks_o2d", "object", "device"),
        )
    ),
    Rule("external_hit_tokens", ("kvbm_matched_tokens", f"{_OWN}kvbm_matched_tokens"),
         unless=("vllm:external_prefix_cache_hits",)),
    *ENGINE_RULES,
)  # fmt: skip

IGNORED = (
    "dynamo_component_*", "dynamo_work_handler_*", "dynamo_engine_request", "dynamo_request_queue", "dynamo_tokio_*",
    "dynamo_transport_*", "dynamo_task_tracker_*", *vllm.IGNORED, *sglang.IGNORED, *trtllm.IGNORED,
)  # fmt: skip

#: A prefill component says so; `backend` may be either (prefill pods of some versions carry it too).
_ROLES = {"prefill": "prefill", "decode": "decode"}


def _role(series: Series) -> str | None:
    return _ROLES.get(series.labels.get("dynamo_component", ""))


DYNAMO_WORKER = Dialect(
    engine="dynamo_worker",
    title="NVIDIA Dynamo worker",
    prefixes=("dynamo_", "vllm_", "sglang_", "trtllm_", "kvbm_"),
    marks=("dynamo_component_", "dynamo_work_handler_"),
    rules=RULES,
    model_labels=("model_name", "model"),
    ranks=("engine", "dp_rank"),
    repeats=sglang.SGLANG.repeats,
    role=_role,
    attribute=sglang.SGLANG.attribute,
    ignored=IGNORED,
)

"""Says in which stage of a request the extra seconds are, from spans or else from page sums; never which cause."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from analytics.rootcause.panel import Panel
from analytics.rootcause.requests import Requests

TTFT_STAGES = ("gateway", "queue", "prefill", "transfer", "other")
#: Metrics that are about one stage by definition.
OF_ONE_STAGE = {"tpot": "decode", "acceptance": "decode", "kv_hit": "prefill"}
#: Stages are read from requests when at least this share of the slow ones tells its queue or prefill time.
SMALLEST_COVERAGE = 0.2


@dataclass(frozen=True, slots=True)
class Stages:
    """Extra seconds per slow request by stage, and where they were read: `requests` or `pages`."""

    seconds: Mapping[str, float]
    source: str

    @property
    def leading(self) -> str | None:
        """Return the stage with most of the extra time, None where no stage grew."""
        if not self.seconds:
            return None
        stage, seconds = max(self.seconds.items(), key=lambda item: item[1])
        return stage if seconds > 0 else None

    def share(self, stage: str) -> float:
        """Return the stage's share of what grew, 0..1."""
        grown = sum(max(seconds, 0.0) for seconds in self.seconds.values())
        return max(self.seconds.get(stage, 0.0), 0.0) / grown if grown > 0 else 0.0


def stages_of(requests: Requests, engine: Panel, metric: str) -> Stages | None:
    """Split the extra time; None where neither requests nor pages tell stages."""
    if metric in OF_ONE_STAGE:
        return Stages({OF_ONE_STAGE[metric]: 1.0}, "requests")
    found = _from_requests(requests, metric)
    if found is not None and not _half_told(requests):
        return found
    gateway = _at_gateway(requests)
    if gateway is not None and gateway.share("gateway") > 0.5:
        return gateway
    return _from_pages(engine) or found or gateway


def _half_told(requests: Requests) -> bool:
    """Say whether requests tell only one of queue and prefill, so that what is left over may be the other."""
    told = [requests.sum("during", name) for name in ("queue_known", "prefill_known")]
    return min(told) < 0.5 * max(told)


def _at_gateway(requests: Requests) -> Stages | None:
    """Tell the gateway's part from all behind it, where gateways are traced and engines are not."""
    slow = requests.sum("during", "bad_gateway_known")
    usual = requests.quotient("gateway_seconds", "gateway_sum", "gateway_known")
    whole = requests.quotient("ttft_seconds", "ttft_sum", "ttft_known")
    if slow < SMALLEST_COVERAGE * requests.sum("during", "bad_requests") or usual is None or whole is None or slow <= 0:
        return None
    spent = requests.sum("during", "bad_gateway_sum") / slow - usual.before
    behind = requests.sum("during", "bad_gateway_ttft_sum") / slow - whole.before - spent
    return Stages({"gateway": spent, "other": behind}, "requests")


def _from_requests(requests: Requests, metric: str) -> Stages | None:
    """Take the slow requests' stage seconds beyond what the expected number of slow requests used to spend."""
    slow, staged = requests.sum("during", "bad_requests"), requests.sum("during", "bad_staged")
    if slow <= 0 or staged < SMALLEST_COVERAGE * slow:
        return None
    seconds: dict[str, float] = {}
    before_staged = requests.sum("before", "staged")
    names = ["gateway", "queue", "prefill", "transfer"]
    if metric in ("e2e", "goodput", "throughput", "cost"):
        names.append("decode")
    known_during = known_before = 0.0
    for stage in names:
        slow_known = requests.sum("during", "bad_gateway_known") if stage == "gateway" else staged
        usual_known = requests.sum("before", "gateway_known") if stage == "gateway" else before_staged
        during = requests.sum("during", f"bad_{stage}_sum") / slow_known if slow_known > 0 else 0.0
        before = requests.sum("before", f"{stage}_sum") / usual_known if usual_known > 0 else 0.0
        seconds[stage] = during - before
        if stage != "decode":
            known_during += during
            known_before += before
    whole_during = requests.sum("during", "bad_ttft_sum") / staged
    whole_before = requests.sum("before", "staged_ttft_sum") / before_staged if before_staged > 0 else 0.0
    seconds["other"] = (whole_during - known_during) - (whole_before - known_before)
    return Stages(seconds, "requests")


def _from_pages(engine: Panel) -> Stages | None:
    """Compare seconds per finished request; a growing queue is also read by Little's law, as sums come at finish."""
    queue = engine.quotient("queue_seconds", "queue_seconds_sum", "finished")
    prefill = engine.quotient("prefill_seconds", "prefill_seconds_sum", "finished")
    waiting = engine.quotient("queue_wait", "queue_area", "first_tokens")
    if queue is None and waiting is None and prefill is None:
        return None
    grown = [shift.rise for shift in (queue, waiting) if shift is not None]
    seconds = {"queue": max(grown)} if grown else {}
    if prefill is not None:
        seconds["prefill"] = prefill.rise
    moved = engine.quotient("transfer_seconds", "kv_transfer_seconds", "finished")
    if moved is not None:
        seconds["transfer"] = moved.rise
    return Stages(seconds, "pages")

"""Plans a cache-aware gateway: lookups, index memory, retries when an instance fails; never routes a request."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from analytics.planners.form import Plan, PlannerInputs, Step, Verdict, number, whole
from analytics.planners.planner import Monotone, Planner

__all__ = ["PLANNER", "GatewayInputs"]

_DESIGN = "reference design of a cache-aware gateway over 200 instances"

_OWN = "an assumption to measure"


@dataclass(frozen=True, slots=True)
class GatewayInputs(PlannerInputs):
    """Traffic, the prefix index and failure detection."""

    requests_per_second: float = number(5000, "requests/s", 0.001, 1e7, "Peak arrivals.", _DESIGN)
    instances: int = whole(200, "instances", 1, 100_000, "Engine instances behind the gateway.", _DESIGN)
    prompt_tokens: float = number(4096, "tokens", 1, 1e7, "Mean prompt length.", _DESIGN)
    block_tokens: int = whole(64, "tokens", 1, 65_536, "Tokens in one prefix-cache block.", _DESIGN)
    cached_tokens_per_instance: float = number(
        2_000_000, "tokens", 1, 1e10, "Tokens that one instance keeps cached.", _DESIGN
    )
    bytes_per_node: float = number(64, "bytes", 1, 1e6, "Memory of one index node.", _DESIGN)
    health_check_seconds: float = number(1, "s", 0.001, 3600, "Interval of the active health check.", _DESIGN)
    failures_to_eject: int = whole(3, "checks", 1, 100, "Failed checks before an instance is taken out.", _DESIGN)
    passive_detection_seconds: float = number(
        0.3, "s", 0.001, 3600, "Until failing requests themselves mark the instance.", "a few hundred milliseconds"
    )
    failures_per_day: float = number(2, "failures", 0, 1e5, "Instances that fail in a day.", _OWN)
    observed_retries_per_day: float = number(150, "requests", 0, 1e10, "Tries after the first in a day.", _OWN)
    hot_prefix_ratio: float = number(0.3, "ratio", 0, 1, "Share of requests with the most common first block.", _OWN)
    load_bound_ratio: float = number(
        1.25,
        "ratio",
        1,
        1000,
        "Most that one instance may take, over the mean.",
        "consistent hashing with bounded loads, Mirrokni, Thorup, Zadimoghaddam 2016",
    )
    busiest_instance_ratio: float = number(1.25, "ratio", 0, 1e5, "Busiest instance's share over the mean's.", _OWN)
    router_seconds: float = number(40e-6, "s", 0, 10, "CPU time of one routing decision.", "25,000 decisions a core")
    gateway_seconds: float = number(0.005, "s", 0, 1000, "Time to first token spent in the gateway.", _OWN)
    ttft_budget_seconds: float = number(2, "s", 0.001, 1000, "Objective for the time to first token.", _OWN)
    overhead_budget_ratio: float = number(0.02, "ratio", 0, 1, "Share of it that the gateway may use.", _OWN)
    mean_request_seconds: float = number(20, "s", 0.001, 1e5, "How long a streamed answer stays open.", _OWN)
    connections_per_replica: float = number(20_000, "connections", 1, 1e7, "Streams one replica holds.", _OWN)

    def plan(self) -> Plan:
        """Return lookups a second, index memory and retries per failure."""
        blocks = int(self.prompt_tokens // self.block_tokens)
        scan = self.requests_per_second * blocks * self.instances
        tree = self.requests_per_second * blocks
        nodes = self.instances * self.cached_tokens_per_instance // self.block_tokens
        index = nodes * self.bytes_per_node
        window = self.health_check_seconds * self.failures_to_eject
        per_instance = self.requests_per_second / self.instances
        retries = per_instance * window
        steps = (
            Step("blocks_per_request", blocks, "blocks", "whole blocks in the mean prompt"),
            Step("lookups_per_second_per_instance_scan", scan, "lookups/s", "asking every instance about every block"),
            Step("lookups_per_second_prefix_tree", tree, "lookups/s", "one walk of a tree whose nodes name instances"),
            Step("index_nodes", nodes, "nodes", "instances x cached tokens / block"),
            Step("index_bytes", index, "bytes", "nodes x bytes per node"),
            Step("index_mebibytes", index / 2**20, "MiB", "the same in 2^20 bytes"),
            Step(
                "requests_to_retry_per_failure",
                retries,
                "requests",
                "one instance's share of traffic until active checks take it out",
            ),
        )
        verdicts = (
            Verdict("the index fits one machine", index < 64 * 2**30, f"{index / 2**20:,.0f} MiB against 64 GiB"),
            Verdict(
                "no instance is a hotspot",
                self.busiest_instance_ratio <= self.load_bound_ratio,
                f"the busiest takes {self.busiest_instance_ratio:.3g}x the mean, "
                f"the bound is {self.load_bound_ratio:.3g}x",
            ),
            Verdict(
                "retries are what failures explain",
                self.observed_retries_per_day <= 2 * retries * self.failures_per_day + 1,
                f"{self.observed_retries_per_day:,.0f} a day, {retries * self.failures_per_day:,.0f} from "
                f"{self.failures_per_day:g} failures under active checks",
            ),
            Verdict(
                "the gateway stays within its share of the time to first token",
                self.gateway_seconds <= self.overhead_budget_ratio * self.ttft_budget_seconds,
                f"{self.gateway_seconds * 1e3:.3g} ms of "
                f"{self.overhead_budget_ratio * self.ttft_budget_seconds * 1e3:.3g} ms",
            ),
        )
        headline = (
            f"A prefix tree needs {tree:,.0f} lookups a second (a scan {scan:,.0f}) and {index / 2**20:,.0f} MiB; "
            f"a failed instance costs {retries:,.0f} retries"
        )
        return Plan(PLANNER.name, self, steps + self._limits(per_instance), verdicts, headline)

    def _limits(self, per_instance: float) -> tuple[Step, ...]:
        """Return hotspot bounds, retries by detection, and the gateway's own size."""
        even = 1 / self.instances
        unbounded = max(self.hot_prefix_ratio, even)
        bounded = min(1.0, self.load_bound_ratio * even)
        copies = min(self.instances, max(1, ceil(round(self.hot_prefix_ratio / bounded, 9))))
        passive = per_instance * self.passive_detection_seconds
        active = per_instance * self.health_check_seconds * self.failures_to_eject
        open_streams = self.requests_per_second * self.mean_request_seconds
        return (
            Step("largest_share_unbounded", unbounded, "ratio", "all requests of the hottest prefix on one instance"),
            Step("largest_share_bounded", bounded, "ratio", "the bound over the mean / instances"),
            Step(
                "hotspot_load_ratio", unbounded * self.instances, "ratio", "largest share without a bound / even share"
            ),
            Step("instances_for_hot_prefix", copies, "instances", "hottest prefix's share / bounded share, whole"),
            Step("requests_to_retry_passive", passive, "requests", "one instance's share until passive detection"),
            Step(
                "retries_per_day_active", active * self.failures_per_day, "requests", "failures x retries per failure"
            ),
            Step(
                "retries_per_day_passive", passive * self.failures_per_day, "requests", "the same, detected passively"
            ),
            Step(
                "router_cores", self.requests_per_second * self.router_seconds, "cores", "requests/s x CPU per decision"
            ),
            Step(
                "overhead_budget_seconds",
                self.overhead_budget_ratio * self.ttft_budget_seconds,
                "s",
                "share of the objective for the time to first token",
            ),
            Step(
                "gateway_share_of_ttft_budget",
                self.gateway_seconds / self.ttft_budget_seconds,
                "ratio",
                "gateway seconds / objective",
            ),
            Step("open_streams", open_streams, "connections", "Little's law: requests/s x seconds a stream is open"),
            Step(
                "gateway_replicas",
                ceil(open_streams / self.connections_per_replica) + 1,
                "replicas",
                "streams / streams per replica, and one more to lose",
            ),
        )


PLANNER = Planner(
    name="gateway",
    title="Cache-aware gateway",
    question="What does prefix-aware routing cost, and how many requests does a failed instance send back?",
    inputs=GatewayInputs,
    decides="requests_to_retry_per_failure",
    monotone=(
        Monotone("requests_per_second", "lookups_per_second_prefix_tree"),
        Monotone("cached_tokens_per_instance", "index_bytes"),
        Monotone("health_check_seconds", "requests_to_retry_per_failure"),
        Monotone("instances", "requests_to_retry_per_failure", falls=True),
        Monotone("mean_request_seconds", "gateway_replicas"),
    ),
)

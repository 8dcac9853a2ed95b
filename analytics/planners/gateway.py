"""Plans a cache-aware gateway: lookups, index memory, retries when an instance fails; never routes a request."""

from __future__ import annotations

from dataclasses import dataclass

from analytics.planners.form import Plan, PlannerInputs, Step, Verdict, number, whole
from analytics.planners.planner import Monotone, Planner

__all__ = ["PLANNER", "GatewayInputs"]

_DESIGN = "reference design of a cache-aware gateway over 200 instances"


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
        )
        headline = (
            f"A prefix tree needs {tree:,.0f} lookups a second (a scan {scan:,.0f}) and {index / 2**20:,.0f} MiB; "
            f"a failed instance costs {retries:,.0f} retries"
        )
        return Plan(PLANNER.name, self, steps, verdicts, headline)


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
    ),
)

"""Plans instances, cold starts and standby for a daily swing with bursts; never scales anything."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from analytics.planners.distribution import percentiles
from analytics.planners.form import Plan, PlannerInputs, Step, StepValue, Verdict, named, number
from analytics.planners.planner import Monotone, Planner

__all__ = ["PLANNER", "AutoscalingInputs"]

_DESIGN = "reference design of observability and autoscaling"

_OWN = "an assumption to measure"
#: Largest gap between counted and computed concurrency that recording losses explain.
LITTLE_TOLERANCE = 0.1


@dataclass(frozen=True, slots=True)
class AutoscalingInputs(PlannerInputs):
    """Traffic, one instance's rate, and how long a new one takes."""

    weight_bytes: float = number(140e9, "bytes", 1, 1e14, "Weights that a new instance loads.", "70B in BF16")
    object_store_bytes_per_second: float = number(1e9, "bytes/s", 1e3, 1e14, "From object storage.", _DESIGN)
    nvme_bytes_per_second: float = number(7e9, "bytes/s", 1e3, 1e14, "From a local drive.", _DESIGN)
    rdma_bytes_per_second: float = number(400e9, "bytes/s", 1e3, 1e14, "From a running instance.", "8 x 50 GB/s")
    requests_per_second: float = number(200, "requests/s", 1e-4, 1e7, "Arrivals in the busiest minutes.", _DESIGN)
    mean_latency_seconds: float = number(12, "s", 1e-3, 1e5, "Mean time of a request in the system.", _DESIGN)
    requests_per_second_per_instance: float = number(
        16.8, "requests/s", 1e-4, 1e6, "Rate that one instance sustains within its objectives.", _DESIGN
    )
    traffic_growth_ratio: float = number(0.3, "ratio", 0, 1000, "Growth in the growth window.", _DESIGN)
    traffic_growth_seconds: float = number(300, "s", 1, 86_400, "The growth window.", _DESIGN)
    cold_start_seconds: float = number(
        120, "s", 0.1, 86_400, "From asking for an instance to its first request.", _DESIGN
    )
    process_start_seconds: float = number(15, "s", 0, 86_400, "Process start and CUDA set-up.", "10 to 20 s")
    compile_seconds: float = number(35, "s", 0, 86_400, "CUDA graphs and kernels, not cached.", "10 to 60 s")
    compile_cached_seconds: float = number(5, "s", 0, 86_400, "The same from a cache.", _OWN)
    growth_at: tuple[tuple[str, float], ...] = named(
        {"50": 0.02, "90": 0.1, "99": 0.3, "99.9": 0.5},
        "ratio",
        0,
        1000,
        "Growth of traffic in the growth window, by percentile of windows.",
        _OWN,
    )
    burst_quantile: float = number(0.99, "ratio", 0, 1, "Share of windows that standby must cover.", _OWN)
    observed_requests_per_second: float = number(200, "requests/s", 1e-4, 1e7, "Arrivals over the whole time.", _DESIGN)
    observed_concurrency: float = number(
        2400, "requests", 0, 1e9, "Requests in the system over the same time.", "Little's law itself"
    )

    def plan(self) -> Plan:
        """Return load times, instances and standby."""
        concurrency = self.requests_per_second * self.mean_latency_seconds
        needed = self.requests_per_second / self.requests_per_second_per_instance
        growth = self.traffic_growth_ratio * self.cold_start_seconds / self.traffic_growth_seconds
        standby = ceil(needed * growth)
        object_store = self.weight_bytes / self.object_store_bytes_per_second
        nvme = self.weight_bytes / self.nvme_bytes_per_second
        rdma = self.weight_bytes / self.rdma_bytes_per_second
        steps = (
            Step("load_seconds_object_store", object_store, "s", "weights / object storage bandwidth"),
            Step("load_seconds_nvme", nvme, "s", "weights / drive bandwidth"),
            Step("load_seconds_rdma", rdma, "s", "weights / network bandwidth from a running instance"),
            Step("mean_concurrency", concurrency, "requests", "Little's law: rate x time in the system"),
            Step("instances_needed", needed, "instances", "rate / rate of one instance"),
            Step("growth_during_cold_start", growth, "ratio", "growth x cold start / growth window"),
            Step("standby_instances", standby, "instances", "instances x growth during a cold start, whole"),
        )
        verdicts: tuple[Verdict, ...] = (
            Verdict(
                "a cold start keeps up with the growth without standby",
                standby == 0,
                f"traffic grows {growth:.0%} during a cold start of {self.cold_start_seconds:.3g} s",
            ),
        )
        headline = (
            f"{needed:.3g} instances for {concurrency:,.0f} requests in flight; keep {standby} on hot standby, "
            f"since traffic grows {growth:.0%} during a cold start"
        )
        loads = {"object_store": object_store, "nvme": nvme, "rdma": rdma}
        mean = self.observed_requests_per_second * self.mean_latency_seconds
        gap = self.observed_concurrency / mean - 1
        verdicts += (
            Verdict(
                "measured concurrency agrees with Little's law",
                abs(gap) < LITTLE_TOLERANCE,
                f"{self.observed_concurrency:,.0f} in the system, mean rate x time gives {mean:,.0f} ({gap:+.0%})",
            ),
        )
        more = (
            *self._starts(loads),
            *self._bursts(needed),
            Step(
                "concurrency_gap_ratio",
                gap,
                "ratio",
                "observed / (mean rate x time) - 1",
            ),
        )
        return Plan(PLANNER.name, self, steps + more, verdicts, headline)

    def _starts(self, loads: dict[str, float]) -> tuple[Step, ...]:
        """Return a cold start by source of the weights and by phase."""
        table: dict[str, StepValue] = {}
        for source, load in loads.items():
            table[source] = {
                "process_start": self.process_start_seconds,
                "load": load,
                "compile": self.compile_seconds,
                "total": self.process_start_seconds + load + self.compile_seconds,
                "total_compile_cached": self.process_start_seconds + load + self.compile_cached_seconds,
            }
        return (Step("cold_start_by_source", table, "s", "process start + weights from the source + compiling"),)

    def _bursts(self, needed: float) -> tuple[Step, ...]:
        """Return standby by how often it has to be enough."""
        lag = self.cold_start_seconds / self.traffic_growth_seconds
        bursts = percentiles(self.growth_at)
        growth = float(bursts.quantile(self.burst_quantile)) * lag
        table: dict[str, StepValue] = {
            f"{level * 100:g}": ceil(needed * value * lag)
            for level, value in zip(bursts.levels, bursts.values, strict=True)
        }
        return (
            Step("standby_by_percentile", table, "instances", "instances x growth at the percentile x lag / window"),
            Step("standby_at_burst_quantile", ceil(needed * growth), "instances", "the same at the chosen quantile"),
        )


PLANNER = Planner(
    name="autoscaling",
    title="Autoscaling",
    question="How many instances, how long is a cold start, and how many stay on hot standby?",
    inputs=AutoscalingInputs,
    decides="instances_needed",
    monotone=(
        Monotone("requests_per_second", "instances_needed"),
        Monotone("cold_start_seconds", "standby_instances"),
        Monotone("nvme_bytes_per_second", "load_seconds_nvme", falls=True),
        Monotone("traffic_growth_ratio", "growth_during_cold_start"),
    ),
)

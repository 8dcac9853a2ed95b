"""Plans a tiered KV cache pool: sessions per tier, read-back against recompute; never moves a block."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from analytics.planners.distribution import percentiles
from analytics.planners.form import Plan, PlannerInputs, Step, StepValue, Verdict, named, number, whole
from analytics.planners.planner import Monotone, Planner
from analytics.planners.retention import ReuseClass, by_value, least_recently_used, reuse_curves

__all__ = ["PLANNER", "KvPoolInputs"]

_DESIGN = "reference design of a KV pool for chat and agents on a 70B model"

_OWN = "an assumption to measure"
#: How far below its capacity's hit ratio a pool may stay without a cause to look for.
HIT_SLACK = 0.2


@dataclass(frozen=True, slots=True)
class KvPoolInputs(PlannerInputs):
    """Session size, what each tier holds, and how fast it is read back."""

    kv_bytes_per_token: float = number(160e3, "bytes", 1, 1e8, "KV cache of one token.", "70B with GQA and FP8 KV")
    machines: int = whole(16, "machines", 1, 100_000, "Machines in the pool.", _DESIGN)
    gpus_per_machine: int = whole(8, "GPUs", 1, 1024, "GPUs in one machine.", _DESIGN)
    context_tokens: float = number(8192, "tokens", 1, 1e7, "Mean context of a session.", _DESIGN)
    gpu_kv_bytes_per_gpu: float = number(40e9, "bytes", 1, 1e13, "GPU memory left to KV on each GPU.", _DESIGN)
    memory_bytes_per_machine: float = number(1.5e12, "bytes", 1, 1e15, "Host memory given to the pool.", _DESIGN)
    memory_read_bytes_per_second: float = number(
        400e9, "bytes/s", 1e3, 1e14, "Read-back from the memory pool into one machine.", "8 x 50 GB/s PCIe or RDMA"
    )
    ssd_bytes_per_machine: float = number(60e12, "bytes", 1, 1e17, "SSD given to the pool.", _DESIGN)
    ssd_read_bytes_per_second: float = number(
        48e9, "bytes/s", 1e3, 1e14, "Read-back from SSD into one machine.", "8 drives x 6 GB/s"
    )
    model_parameters: float = number(70.6e9, "parameters", 1e6, 1e14, "Parameters used per token.", "Llama 3 70B")
    gpu_flops: float = number(989e12, "flop/s", 1e9, 1e18, "Peak of one GPU.", "H100 SXM, dense BF16")
    mfu: float = number(0.5, "ratio", 0.001, 1, "Share of the peak that prefill reaches.", _DESIGN)
    turns_per_second: float = number(20, "turns/s", 1e-4, 1e6, "Turns that the whole pool serves.", _OWN)
    first_turn_ratio: float = number(0.25, "ratio", 0, 1, "Share of turns that open a session.", _OWN)
    first_return_ratio: float = number(0.6, "ratio", 0, 1, "First turns that a second one follows.", _OWN)
    later_return_ratio: float = number(0.8, "ratio", 0, 1, "Later turns that another one follows.", _OWN)
    first_return_seconds: tuple[tuple[str, float], ...] = named(
        {"0": 10, "10": 60, "25": 180, "50": 600, "75": 1500, "90": 2700, "99": 5400, "100": 7200},
        "s",
        0.001,
        1e7,
        "Time to the second turn, by percentile.",
        "a few to tens of minutes",
    )
    later_return_seconds: tuple[tuple[str, float], ...] = named(
        {"0": 2, "10": 10, "25": 30, "50": 180, "75": 600, "90": 1500, "99": 3600, "100": 7200},
        "s",
        0.001,
        1e7,
        "Time from a later turn to the next, by percentile.",
        "agents' tool calls and people's turns",
    )
    observed_hit_ratio: float = number(0.6, "ratio", 0, 1, "Share of prompt tokens that were cached.", _OWN)
    versions_in_cache: int = whole(
        1, "versions", 1, 10, "Model versions whose KV shares the pool; two while one replaces the other.", _OWN
    )

    def plan(self) -> Plan:
        """Return sessions per tier and the time to bring one back."""
        session = self.context_tokens * self.kv_bytes_per_token
        flops = self.gpus_per_machine * self.gpu_flops * self.mfu
        recompute = 2 * self.model_parameters * self.context_tokens / flops
        gpu_sessions = self.machines * self.gpus_per_machine * self.gpu_kv_bytes_per_gpu / session
        memory_sessions = self.machines * self.memory_bytes_per_machine / session
        ssd_sessions = self.machines * self.ssd_bytes_per_machine / session
        memory_read = session / self.memory_read_bytes_per_second
        ssd_read = session / self.ssd_read_bytes_per_second
        steps = (
            Step("session_bytes", session, "bytes", "context x KV per token"),
            Step("recompute_seconds", recompute, "s", "2 x parameters x context / one machine's flops at the MFU"),
            Step("gpu_sessions", gpu_sessions, "sessions", "GPU memory of all machines / session"),
            Step("memory_sessions", memory_sessions, "sessions", "host memory of all machines / session"),
            Step("memory_read_seconds", memory_read, "s", "session / memory bandwidth"),
            Step("ssd_sessions", ssd_sessions, "sessions", "SSD of all machines / session"),
            Step("ssd_read_seconds", ssd_read, "s", "session / SSD bandwidth"),
        )
        verdicts: tuple[Verdict, ...] = (
            Verdict(
                "reading back from SSD beats recomputing",
                ssd_read < recompute,
                f"{ssd_read * 1e3:.0f} ms against {recompute * 1e3:.0f} ms",
            ),
            Verdict(
                "reading back from memory beats recomputing",
                memory_read < recompute,
                f"{memory_read * 1e3:.1f} ms against {recompute * 1e3:.0f} ms",
            ),
        )
        headline = (
            f"GPU memory holds {gpu_sessions:,.0f} sessions, host memory {memory_sessions:,.0f}, "
            f"SSD {ssd_sessions:,.0f}; "
            f"SSD reads a session back in {ssd_read * 1e3:.0f} ms, recomputing takes {recompute * 1e3:.0f} ms"
        )
        sessions = {"gpu": gpu_sessions, "memory": memory_sessions, "ssd": ssd_sessions}
        hits, reach = self._hits(
            sessions, {"gpu": recompute, "memory": recompute - memory_read, "ssd": recompute - ssd_read}
        )
        verdicts += (
            Verdict(
                "the pool hits what its capacity allows",
                self.observed_hit_ratio >= reach - HIT_SLACK,
                f"{self.observed_hit_ratio:.0%} of prompt tokens were cached, turns could hit {reach:.0%}; "
                "far less has another cause than capacity: a new model version, routing, keys that never match",
            ),
        )
        return Plan(PLANNER.name, self, steps + hits, verdicts, headline)

    def _hits(self, sessions: Mapping[str, float], savings: Mapping[str, float]) -> tuple[tuple[Step, ...], float]:
        """Return the hit ratio as tiers add capacity, by LRU and by value, what it saves, and the last ratio."""
        capacity = 0.0
        lru: dict[str, StepValue] = {}
        value: dict[str, StepValue] = {}
        kept: dict[str, StepValue] = {}
        previous = saved = 0.0
        curves = reuse_curves(self._classes(), self.turns_per_second)
        for tier, held in sessions.items():
            capacity += held / self.versions_in_cache
            plain = least_recently_used(curves, capacity)
            best = by_value(curves, capacity)
            lru[tier], value[tier] = plain.hit_ratio, best.hit_ratio
            kept[tier] = plain.age_seconds["first"]
            saved += max(0.0, savings[tier]) * (plain.hit_ratio - previous)
            previous = plain.hit_ratio
        per_version = sum(sessions.values()) / self.versions_in_cache
        steps = (
            Step("sessions_per_version", per_version, "sessions", "sessions of all tiers / versions in the cache"),
            Step(
                "kept_seconds_by_tier",
                kept,
                "s",
                "age at which LRU lets a session fall out of this tier and those above",
            ),
            Step(
                "hit_ratio_by_tier",
                lru,
                "ratio",
                "share of turns that find their session in this tier or above: reuse sooner than the age kept",
            ),
            Step(
                "hit_ratio_by_tier_by_value",
                value,
                "ratio",
                "the same when eviction goes by saving x probability of reuse instead of LRU",
            ),
            Step(
                "machines_of_prefill_saved",
                saved * self.turns_per_second,
                "machines",
                "turns/s x what a hit saves over recomputing, tier by tier",
            ),
        )
        return steps, previous

    def _classes(self) -> tuple[ReuseClass, ...]:
        first = percentiles(self.first_return_seconds)
        later = percentiles(self.later_return_seconds)
        return (
            ReuseClass("first", self.first_turn_ratio, self.first_return_ratio, first),
            ReuseClass("later", 1 - self.first_turn_ratio, self.later_return_ratio, later),
        )


PLANNER = Planner(
    name="kv_pool",
    title="Tiered KV pool",
    question="How many sessions does each tier hold, and is reading one back faster than recomputing it?",
    inputs=KvPoolInputs,
    decides="gpu_sessions",
    monotone=(
        Monotone("context_tokens", "session_bytes"),
        Monotone("context_tokens", "gpu_sessions", falls=True),
        Monotone("mfu", "recompute_seconds", falls=True),
        Monotone("ssd_bytes_per_machine", "ssd_sessions"),
        Monotone("versions_in_cache", "sessions_per_version", falls=True),
    ),
)

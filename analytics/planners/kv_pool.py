"""Plans a tiered KV cache pool: sessions per tier, read-back against recompute; never moves a block."""

from __future__ import annotations

from dataclasses import dataclass

from analytics.planners.form import Plan, PlannerInputs, Step, Verdict, number, whole
from analytics.planners.planner import Monotone, Planner

__all__ = ["PLANNER", "KvPoolInputs"]

_DESIGN = "reference design of a KV pool for chat and agents on a 70B model"


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
        verdicts = (
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
        return Plan(PLANNER.name, self, steps, verdicts, headline)


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
    ),
)

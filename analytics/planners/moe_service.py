"""Plans prefill and decode units of a mixture-of-experts service: GPUs, machines, cost; never places experts."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from analytics.planners.form import Plan, PlannerInputs, Step, Verdict, number, whole
from analytics.planners.planner import Monotone, Planner

__all__ = ["PLANNER", "MoeServiceInputs"]

_DESIGN = "reference design of a 600B-class mixture-of-experts service"
_PUBLISHED = "derived from DeepSeek's published serving figures, as the reference design reads them"


@dataclass(frozen=True, slots=True)
class MoeServiceInputs(PlannerInputs):
    """Demand, capacity per GPU and the unit in which each role is deployed."""

    peak_requests_per_second: float = number(500, "requests/s", 0.001, 1e6, "Arrivals in the busiest minutes.", _DESIGN)
    input_tokens: float = number(3000, "tokens", 1, 1e7, "Mean prompt length.", _DESIGN)
    output_tokens: float = number(800, "tokens", 1, 1e6, "Mean answer length.", _DESIGN)
    prefix_hit_ratio: float = number(0.5, "ratio", 0, 1, "Share of prompt tokens read from a prefix cache.", _DESIGN)
    prefill_tokens_per_gpu_second: float = number(
        4000, "tokens/s", 1, 1e6, "Prompt tokens that one prefill GPU really computes.", _PUBLISHED
    )
    output_tokens_per_gpu_second: float = number(
        1850, "tokens/s", 1, 1e6, "Answer tokens that one decode GPU makes at the planned TPOT.", _PUBLISHED
    )
    prefill_unit_gpus: int = whole(32, "GPUs", 1, 4096, "GPUs that are deployed and fail together as prefill.", _DESIGN)
    decode_unit_gpus: int = whole(144, "GPUs", 1, 4096, "GPUs that are deployed and fail together as decode.", _DESIGN)
    headroom_ratio: float = number(0.2, "ratio", 0, 5, "Capacity planned above the peak.", _DESIGN)
    tpot_seconds: float = number(0.05, "s", 1e-4, 10, "Time per output token of one request.", _DESIGN)
    kv_bytes_per_token: float = number(
        70272, "bytes", 1, 1e8, "KV cache of one token over all layers.", "MLA: 576 values x 2 bytes x 61 layers"
    )
    usd_per_gpu_hour: float = number(2, "USD/h", 0, 1000, "Price of one GPU for one hour.", _DESIGN)
    gpus_per_machine: int = whole(8, "GPUs", 1, 1024, "GPUs in one machine.", _DESIGN)

    def plan(self) -> Plan:
        """Return units, machines and cost."""
        prefill_gpus = (
            self.peak_requests_per_second
            * self.input_tokens
            * (1 - self.prefix_hit_ratio)
            / self.prefill_tokens_per_gpu_second
        )
        decode_gpus = self.peak_requests_per_second * self.output_tokens / self.output_tokens_per_gpu_second
        prefill_units = ceil(prefill_gpus * (1 + self.headroom_ratio) / self.prefill_unit_gpus)
        decode_units = ceil(decode_gpus * (1 + self.headroom_ratio) / self.decode_unit_gpus)
        prefill_deployed = prefill_units * self.prefill_unit_gpus
        decode_deployed = decode_units * self.decode_unit_gpus
        gpus = prefill_deployed + decode_deployed
        machines = gpus // self.gpus_per_machine
        usd_per_hour = gpus * self.usd_per_gpu_hour
        tokens_per_hour = self.peak_requests_per_second * self.output_tokens * 3600
        usd_per_mtok = usd_per_hour / tokens_per_hour * 1e6
        requests_per_gpu = self.output_tokens_per_gpu_second * self.tpot_seconds
        kv_bytes = requests_per_gpu * (self.input_tokens + self.output_tokens / 2) * self.kv_bytes_per_token
        steps = (
            Step("prefill_gpus", prefill_gpus, "GPUs", "requests/s x input x (1 - hit ratio) / tokens per GPU second"),
            Step("prefill_units", prefill_units, "units", "prefill GPUs with headroom, in whole units"),
            Step("prefill_gpus_deployed", prefill_deployed, "GPUs", "units x GPUs per unit"),
            Step("decode_gpus", decode_gpus, "GPUs", "requests/s x output / output tokens per GPU second"),
            Step("decode_units", decode_units, "units", "decode GPUs with headroom, in whole units"),
            Step("decode_gpus_deployed", decode_deployed, "GPUs", "units x GPUs per unit"),
            Step(
                "requests_per_decode_gpu",
                requests_per_gpu,
                "requests",
                "each request takes 1 / TPOT tokens a second of the GPU's output",
            ),
            Step(
                "kv_bytes_per_decode_gpu",
                kv_bytes,
                "bytes",
                "requests per GPU x (input + half the output) x KV per token",
            ),
            Step("machines", machines, "machines", "deployed GPUs / GPUs per machine"),
            Step("usd_per_hour", usd_per_hour, "USD/h", "deployed GPUs x price"),
            Step(
                "usd_per_million_output_tokens", usd_per_mtok, "USD", "hourly cost / output tokens in an hour at peak"
            ),
        )
        left = decode_deployed - self.decode_unit_gpus
        survives = left >= decode_gpus
        verdicts = (
            Verdict(
                "one decode unit can fail at the peak",
                survives,
                f"{left} GPUs would be left where {decode_gpus:.0f} are needed",
            ),
        )
        headline = (
            f"{prefill_units} prefill units and {decode_units} decode units: {machines} machines, "
            f"${usd_per_hour:,.0f} an hour, ${usd_per_mtok:.2f} per million output tokens"
        )
        return Plan(PLANNER.name, self, steps, verdicts, headline)


PLANNER = Planner(
    name="moe_service",
    title="Mixture-of-experts service",
    question="How many prefill and decode units does the peak need, and what do they cost?",
    inputs=MoeServiceInputs,
    decides="usd_per_hour",
    monotone=(
        Monotone("peak_requests_per_second", "prefill_gpus"),
        Monotone("peak_requests_per_second", "usd_per_hour"),
        Monotone("prefix_hit_ratio", "prefill_gpus", falls=True),
        Monotone("output_tokens", "decode_units"),
        Monotone("headroom_ratio", "prefill_units"),
    ),
)

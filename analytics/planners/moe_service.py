"""Plans prefill and decode units of a mixture-of-experts service: GPUs, machines, cost; never places experts."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, cos, pi

from analytics.planners.form import Plan, PlannerInputs, Step, StepValue, Verdict, named, number, numbers, whole
from analytics.planners.planner import Monotone, Planner
from analytics.planners.units import lendable_unit_hours, units_with_spare

__all__ = ["PLANNER", "MoeServiceInputs"]

_DESIGN = "reference design of a 600B-class mixture-of-experts service"
_PUBLISHED = "derived from DeepSeek's published serving figures, as the reference design reads them"

_KV_ROOM = "80 GB less weights and activations"
_OWN = "an assumption to measure"
_MIX = "a mix whose means are 3,000 and 800 tokens"
_DAY = tuple(round(0.35 + 0.65 * (1 + cos((hour - 15) / 12 * pi)) / 2, 3) for hour in range(24))


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
    kv_bytes_per_gpu: float = number(40e9, "bytes", 1, 1e13, "GPU memory left to KV on a decode GPU.", _KV_ROOM)
    spare_units: int = whole(1, "units", 0, 100, "Units of each role that may be lost at the peak.", "N+1")
    smaller_decode_unit_gpus: int = whole(72, "GPUs", 1, 4096, "A smaller decode unit to compare with.", "half of 144")
    smaller_unit_efficiency_ratio: float = number(
        0.9, "ratio", 0.01, 1, "Its output per GPU beside the larger unit's: fewer tokens reach each expert.", _OWN
    )
    expert_balance_ratio: float = number(
        0.8, "ratio", 0.01, 1, "Mean over largest load of expert GPUs; 1 is perfect balance.", _OWN
    )
    load_ratio_by_hour: tuple[float, ...] = numbers(
        _DAY, "ratio", 0, 1, "Load as a share of the peak, over a day in equal parts.", "a day with one peak at 15:00"
    )
    request_ratio_by_bucket: tuple[tuple[str, float], ...] = named(
        {"0-1k": 0.3, "1k-4k": 0.45, "4k-16k": 0.25}, "ratio", 0, 1, "Share of requests by length bucket.", _MIX
    )
    input_tokens_by_bucket: tuple[tuple[str, float], ...] = named(
        {"0-1k": 500, "1k-4k": 2200, "4k-16k": 7440}, "tokens", 1, 1e7, "Mean prompt by length bucket.", _MIX
    )
    output_tokens_by_bucket: tuple[tuple[str, float], ...] = named(
        {"0-1k": 600, "1k-4k": 800, "4k-16k": 1040}, "tokens", 1, 1e6, "Mean answer by length bucket.", _MIX
    )

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
            Verdict(
                "the KV of a decode GPU fits",
                kv_bytes <= self.kv_bytes_per_gpu,
                f"{kv_bytes / 1e9:.3g} GB of {self.kv_bytes_per_gpu / 1e9:.3g} GB",
            ),
        )
        headline = (
            f"{prefill_units} prefill units and {decode_units} decode units: {machines} machines, "
            f"${usd_per_hour:,.0f} an hour, ${usd_per_mtok:.2f} per million output tokens"
        )
        return Plan(PLANNER.name, self, steps + self._spare(prefill_gpus, decode_gpus), verdicts, headline)

    def _spare(self, prefill_gpus: float, decode_gpus: float) -> tuple[Step, ...]:
        """Return N+1 units, the smaller unit, what the night frees, and the roles' ratio by length."""
        spare, headroom = self.spare_units, self.headroom_ratio
        prefill = units_with_spare(prefill_gpus, self.prefill_unit_gpus, headroom, spare)
        decode = units_with_spare(decode_gpus, self.decode_unit_gpus, headroom, spare)
        gpus = prefill * self.prefill_unit_gpus + decode * self.decode_unit_gpus
        small_need = decode_gpus / self.smaller_unit_efficiency_ratio
        small = units_with_spare(small_need, self.smaller_decode_unit_gpus, headroom, spare)
        small_gpus = small * self.smaller_decode_unit_gpus
        lent = lendable_unit_hours(decode_gpus, self.decode_unit_gpus, headroom, spare, self.load_ratio_by_hour)
        lent_small = lendable_unit_hours(
            small_need, self.smaller_decode_unit_gpus, headroom, spare, self.load_ratio_by_hour
        )
        lent_gpu_hours = lent * self.decode_unit_gpus
        return (
            Step("n_plus_one_prefill_units", prefill, "units", "enough with headroom, and without the spare units"),
            Step("n_plus_one_decode_units", decode, "units", "enough with headroom, and without the spare units"),
            Step("n_plus_one_gpus", gpus, "GPUs", "both roles' units x GPUs per unit"),
            Step("n_plus_one_usd_per_hour", gpus * self.usd_per_gpu_hour, "USD/h", "those GPUs x price"),
            Step("smaller_decode_units", small, "units", "decode GPUs / the smaller unit's efficiency, with the spare"),
            Step(
                "smaller_unit_gpus_saved",
                decode * self.decode_unit_gpus - small_gpus,
                "GPUs",
                "N+1 GPUs of the larger unit - of the smaller; negative where efficiency costs more than the spare",
            ),
            Step("capacity_lost_with_a_unit", 1 / decode if decode else None, "ratio", "one of the N+1 decode units"),
            Step(
                "capacity_lost_with_a_smaller_unit", 1 / small if small else None, "ratio", "one of the smaller units"
            ),
            Step("lendable_decode_unit_hours_per_day", lent, "unit-hours", "deployed units less those the hour needs"),
            Step("lendable_gpu_hours_per_day", lent_gpu_hours, "GPU-hours", "unit-hours x GPUs per unit"),
            Step("lendable_usd_per_day", lent_gpu_hours * self.usd_per_gpu_hour, "USD", "GPU-hours x price"),
            Step(
                "lendable_gpu_hours_per_day_smaller_units",
                lent_small * self.smaller_decode_unit_gpus,
                "GPU-hours",
                "the same with the smaller unit",
            ),
            Step(
                "decode_gpus_with_perfect_balance",
                decode_gpus * self.expert_balance_ratio,
                "GPUs",
                "the fullest expert GPU sets the pace: decode GPUs x mean / largest load",
            ),
            Step(
                "prefill_gpus_per_decode_gpu_by_bucket",
                self._ratio_by_bucket(),
                "ratio",
                "input x (1 - hit ratio) / prefill rate over output / decode rate, by length bucket",
            ),
            Step(
                "prefill_load_by_bucket",
                self._load_by_bucket(),
                "ratio",
                "share of all prefill work that comes from each length bucket",
            ),
        )

    def _ratio_by_bucket(self) -> dict[str, StepValue]:
        outputs = dict(self.output_tokens_by_bucket)
        computed = (1 - self.prefix_hit_ratio) / self.prefill_tokens_per_gpu_second
        return {
            bucket: tokens * computed / (outputs[bucket] / self.output_tokens_per_gpu_second)
            for bucket, tokens in self.input_tokens_by_bucket
            if bucket in outputs
        }

    def _load_by_bucket(self) -> dict[str, StepValue]:
        shares = dict(self.request_ratio_by_bucket)
        work = {bucket: shares.get(bucket, 0.0) * tokens for bucket, tokens in self.input_tokens_by_bucket}
        total = sum(work.values())
        return {bucket: each / total if total > 0 else None for bucket, each in work.items()}


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
        Monotone("spare_units", "n_plus_one_gpus"),
    ),
)

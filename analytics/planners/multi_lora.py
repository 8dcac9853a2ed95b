"""Plans many LoRA adapters on one base model: size, residency, swaps, weight reads; never loads an adapter."""

from __future__ import annotations

from dataclasses import dataclass

from analytics.planners.form import Plan, PlannerInputs, Step, StepValue, Verdict, named, number, numbers, whole
from analytics.planners.planner import Monotone, Planner
from analytics.planners.popularity import Floats, distinct_in_batch, distinct_with_affinity, resident_share, zipf

__all__ = ["PLANNER", "MultiLoraInputs"]

_DESIGN = "reference design of thousands of rank-16 adapters on an 8B base"
_LLAMA = "Llama 3 8B"
_OWN = "an assumption to measure"
#: Bytes per base parameter: the base is served in 16 bits.
_BASE_BYTES = 2


@dataclass(frozen=True, slots=True)
class MultiLoraInputs(PlannerInputs):
    """The base's shape, the adapters and where they live."""

    layers: int = whole(32, "layers", 1, 1000, "Transformer layers.", _LLAMA)
    hidden: int = whole(4096, "values", 1, 1_000_000, "Model width.", _LLAMA)
    kv_dim: int = whole(1024, "values", 1, 1_000_000, "Width of K and of V.", _LLAMA)
    ffn: int = whole(14336, "values", 1, 10_000_000, "Width of the feed-forward layer.", _LLAMA)
    rank: int = whole(16, "values", 1, 4096, "LoRA rank.", _DESIGN)
    bytes_per_parameter: float = number(2, "bytes", 0.25, 8, "Bytes of one adapter parameter.", "BF16")
    adapters: int = whole(1000, "adapters", 1, 100_000, "Adapters that tenants own.", _DESIGN)
    gpu_bytes_for_adapters: float = number(8 * 2**30, "bytes", 1, 1e13, "GPU memory kept for adapters.", _DESIGN)
    pcie_bytes_per_second: float = number(25e9, "bytes/s", 1e6, 1e13, "Host memory to GPU.", "PCIe 4 x16, in use")
    base_parameters: float = number(8e9, "parameters", 1e6, 1e13, "Parameters of the base model.", _LLAMA)
    batch_requests: int = whole(256, "requests", 1, 100_000, "Requests in one decode batch.", _DESIGN)
    distinct_adapters: tuple[float, ...] = numbers(
        (1, 16, 64), "adapters", 1, 100_000, "Distinct adapters in the batch to compare.", _DESIGN
    )
    popularity_exponent: float = number(1, "exponent", 0, 5, "Zipf exponent of adapters' popularity; 0 is even.", _OWN)
    affine_instances: int = whole(8, "instances", 1, 10_000, "Instances that adapters are dealt to.", _OWN)
    requests_per_second: float = number(100, "requests/s", 1e-4, 1e6, "Arrivals over all adapters.", _OWN)
    store_bytes_per_second: float = number(100e6, "bytes/s", 1e3, 1e12, "Adapter download.", "object storage")
    usd_per_day: float = number(384, "USD", 0, 1e9, "What the instances cost in a day.", "8 GPUs x 24 h x $2")
    tokens_per_day: tuple[tuple[str, float], ...] = named(
        {"large": 500e6, "medium": 100e6, "small": 5e6}, "tokens", 0, 1e15, "Tokens of each tenant in a day.", _OWN
    )

    def plan(self) -> Plan:
        """Return adapter size, how many stay resident, and what a batch reads."""
        parameters = self.layers * self.rank * self._shape_sum()
        size = parameters * self.bytes_per_parameter
        resident = int(self.gpu_bytes_for_adapters // size)
        swap = size / self.pcie_bytes_per_second
        base_bytes = _BASE_BYTES * self.base_parameters
        compute = parameters / self.base_parameters
        reads = {f"{each:g}": each * size / 2**30 for each in self.distinct_adapters}
        shares = {f"{each:g}": each * size / base_bytes for each in self.distinct_adapters}
        steps = (
            Step(
                "adapter_parameters",
                parameters,
                "parameters",
                "rank x (in + out) over q, k, v, o, gate, up, down and all layers",
            ),
            Step("adapter_mebibytes", size / 2**20, "MiB", "parameters x bytes per parameter"),
            Step("all_adapters_gibibytes", self.adapters * size / 2**30, "GiB", "adapters x size"),
            Step("resident_adapters", resident, "adapters", "GPU bytes for adapters / size"),
            Step("swap_in_seconds", swap, "s", "size / PCIe bandwidth"),
            Step("base_gflops_per_token", 2 * self.base_parameters / 1e9, "GFLOP", "2 x base parameters"),
            Step("adapter_gflops_per_token", 2 * parameters / 1e9, "GFLOP", "2 x adapter parameters"),
            Step("adapter_compute_ratio", compute, "ratio", "adapter parameters / base parameters"),
            Step("read_gibibytes_by_distinct", reads, "GiB", "every distinct adapter of a batch is read once a step"),
            Step("read_share_of_base_by_distinct", shares, "ratio", "adapter bytes / base bytes read in a step"),
        )
        shape = zipf(self.adapters, self.popularity_exponent)
        extra = self._popularity(shape, size, base_bytes, resident, swap) + self._bill()
        most = max(shares.values())
        verdicts = (
            Verdict("compute is negligible", compute < 0.05, f"{compute:.1%} of the base model's"),
            Verdict(
                "weight reads stay below a quarter of the base",
                most < 0.25,
                f"{max(self.distinct_adapters):.3g} distinct adapters read {most:.0%} of the base",
            ),
        )
        headline = (
            f"One adapter is {size / 2**20:,.0f} MiB: {resident} stay on the GPU, a swap takes {swap * 1e3:.1f} ms, "
            f"{max(self.distinct_adapters):.3g} distinct adapters in a batch read {most:.0%} of the base"
        )
        return Plan(PLANNER.name, self, steps + extra, verdicts, headline)

    def _popularity(
        self, shape: Floats, size: float, base_bytes: float, resident: int, swap: float
    ) -> tuple[Step, ...]:
        """Return distinct adapters per batch by routing, and how often a request finds its adapter away."""
        anywhere = distinct_in_batch(shape, self.batch_requests)
        affine = distinct_with_affinity(shape, self.batch_requests, self.affine_instances)
        at_home = resident_share(shape, resident)
        with_homes = resident_share(shape, resident * min(self.affine_instances, self.adapters))
        return (
            Step(
                "distinct_adapters_expected",
                anywhere,
                "adapters",
                "sum over adapters of 1 - (1 - share)^batch, requests going anywhere",
            ),
            Step("distinct_adapters_with_affinity", affine, "adapters", "the same when each adapter has one home"),
            Step("read_share_of_base_expected", anywhere * size / base_bytes, "ratio", "distinct x size / base bytes"),
            Step("read_share_of_base_with_affinity", affine * size / base_bytes, "ratio", "the same with affinity"),
            Step("resident_request_ratio", at_home, "ratio", "share of requests for the adapters that stay resident"),
            Step("resident_request_ratio_with_affinity", with_homes, "ratio", "the same when each home keeps its own"),
            Step("swaps_per_second", self.requests_per_second * (1 - at_home), "swaps/s", "requests that find it away"),
            Step("cold_adapter_seconds", size / self.store_bytes_per_second + swap, "s", "download + swap"),
        )

    def _bill(self) -> tuple[Step, ...]:
        """Return each tenant's share of the cost, by tokens."""
        total = sum(tokens for _, tokens in self.tokens_per_day)
        bills: dict[str, StepValue] = {
            tenant: self.usd_per_day * tokens / total if total > 0 else None for tenant, tokens in self.tokens_per_day
        }
        price = self.usd_per_day / total * 1e6 if total > 0 else None
        return (
            Step("usd_per_tenant_and_day", bills, "USD", "cost of a day x the tenant's share of tokens"),
            Step("usd_per_million_tokens", price, "USD", "cost of a day / tokens of a day"),
        )

    def _shape_sum(self) -> int:
        """Return Σ (in + out) over the seven projections of one layer."""
        attention = 2 * (self.hidden + self.hidden) + 2 * (self.hidden + self.kv_dim)
        return attention + 3 * (self.hidden + self.ffn)


PLANNER = Planner(
    name="multi_lora",
    title="Many LoRA adapters",
    question="How many adapters stay on a GPU, and what do distinct adapters in a batch cost?",
    inputs=MultiLoraInputs,
    decides="resident_adapters",
    monotone=(
        Monotone("rank", "adapter_parameters"),
        Monotone("rank", "resident_adapters", falls=True),
        Monotone("pcie_bytes_per_second", "swap_in_seconds", falls=True),
        Monotone("adapters", "all_adapters_gibibytes"),
        Monotone("batch_requests", "distinct_adapters_expected"),
    ),
)

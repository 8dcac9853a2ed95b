"""Plans a million-token context: prefill dense and sparse, KV bytes, the decode read floor; never splits a sequence."""

from __future__ import annotations

from dataclasses import dataclass

from analytics.planners.form import Plan, PlannerInputs, Step, Verdict, number, whole
from analytics.planners.planner import Monotone, Planner

__all__ = ["PLANNER", "LongContextInputs"]

_DESIGN = "reference design of a million-token service on an MLA mixture of experts"
_ATTENTION = "expanded multi-head attention: 128 heads x (192 + 128) values x 2"


@dataclass(frozen=True, slots=True)
class LongContextInputs(PlannerInputs):
    """The model's attention, the GPUs that prefill together, and the document questions are asked about."""

    context_tokens: float = number(1_000_000, "tokens", 1, 1e8, "Prompt length.", _DESIGN)
    active_parameters: float = number(37e9, "parameters", 1e6, 1e14, "Parameters used per token.", "DeepSeek-V3")
    layers: int = whole(61, "layers", 1, 1000, "Transformer layers.", "DeepSeek-V3")
    kv_bytes_per_token_mla: float = number(70e3, "bytes", 1, 1e8, "KV of one token with MLA.", _DESIGN)
    kv_bytes_per_token_gqa: float = number(160e3, "bytes", 1, 1e8, "KV of one token with GQA.", "70B dense, FP8 KV")
    dense_flops_per_pair: float = number(81920, "flop", 1, 1e9, "Attention per token pair and layer.", _ATTENTION)
    index_flops_per_pair: float = number(
        16384, "flop", 0, 1e9, "Indexer per token pair and layer.", "DeepSeek sparse attention"
    )
    sparse_selected_tokens: float = number(
        2048, "tokens", 1, 1e7, "Tokens that a query attends to.", "DeepSeek sparse attention"
    )
    sparse_flops_per_selected: float = number(
        278528, "flop", 1, 1e9, "Absorbed MLA per selected token and layer.", "128 heads x (576 + 512) values x 2"
    )
    gpus: int = whole(64, "GPUs", 1, 100_000, "GPUs that prefill one prompt together.", _DESIGN)
    gpu_flops: float = number(989e12, "flop/s", 1e9, 1e18, "Peak of one GPU.", "H100 SXM, dense BF16")
    mfu: float = number(0.5, "ratio", 0.001, 1, "Share of the peak that prefill reaches.", _DESIGN)
    latent_bytes_per_token: float = number(
        1152, "bytes", 1, 1e7, "Latent of one token and layer.", "576 values x 2 bytes"
    )
    index_bytes_per_token: float = number(
        132, "bytes", 0, 1e7, "Indexer key of one token and layer.", "128 bytes + a scale"
    )
    machine_bandwidth_bytes_per_second: float = number(
        27e12, "bytes/s", 1e6, 1e16, "GPU memory bandwidth of one machine.", "8 x 3.35 TB/s"
    )
    document_tokens: float = number(500_000, "tokens", 1, 1e8, "A document that several questions share.", _DESIGN)

    def plan(self) -> Plan:
        """Return prefill seconds, KV bytes and the floor of one decode step."""
        tokens = self.context_tokens
        pairs = tokens * tokens / 2 * self.layers
        linear = 2 * self.active_parameters * tokens
        dense = pairs * self.dense_flops_per_pair
        index = pairs * self.index_flops_per_pair
        sparse = tokens * self.sparse_selected_tokens * self.sparse_flops_per_selected * self.layers
        rate = self.gpus * self.gpu_flops * self.mfu
        dense_seconds = (linear + dense) / rate
        sparse_seconds = (linear + index / 2 + sparse) / rate
        kv_mla = tokens * self.kv_bytes_per_token_mla
        kv_gqa = tokens * self.kv_bytes_per_token_gqa
        read_dense = tokens * self.latent_bytes_per_token * self.layers
        selected = self.sparse_selected_tokens * self.latent_bytes_per_token
        read_sparse = (tokens * self.index_bytes_per_token + selected) * self.layers
        floor = kv_mla / self.machine_bandwidth_bytes_per_second
        document = self.document_tokens * self.kv_bytes_per_token_mla
        steps = (
            Step("kv_bytes_mla", kv_mla, "bytes", "context x KV per token with MLA"),
            Step("kv_bytes_gqa", kv_gqa, "bytes", "context x KV per token with GQA"),
            Step("linear_flops", linear, "flop", "2 x active parameters x context"),
            Step("dense_attention_flops", dense, "flop", "half of context squared, x flops per pair x layers"),
            Step("dense_prefill_seconds", dense_seconds, "s", "(linear + attention) / flops of all GPUs at the MFU"),
            Step("index_flops", index, "flop", "the indexer scores every earlier token"),
            Step("sparse_attention_flops", sparse, "flop", "every query attends to its selected tokens only"),
            Step(
                "sparse_prefill_seconds",
                sparse_seconds,
                "s",
                "(linear + half the indexer, which runs in FP8, + selected) / flops",
            ),
            Step("attention_to_linear_ratio", dense / linear, "ratio", "dense attention / linear layers"),
            Step("decode_read_bytes_dense", read_dense, "bytes", "each step reads every latent"),
            Step("decode_read_bytes_sparse", read_sparse, "bytes", "each step reads indexer keys and selected latents"),
            Step("decode_floor_seconds", floor, "s", "KV with MLA / one machine's memory bandwidth"),
            Step("document_kv_bytes_500k", document, "bytes", "document tokens x KV per token with MLA"),
        )
        verdicts = (
            Verdict(
                "sparse attention answers sooner",
                sparse_seconds < dense_seconds,
                f"{sparse_seconds:.3g} s against {dense_seconds:.3g} s",
            ),
        )
        headline = (
            f"{tokens:,.0f} tokens prefill in {dense_seconds:.3g} s dense, {sparse_seconds:.3g} s sparse, "
            f"on {self.gpus} GPUs; "
            f"their KV takes {kv_mla / 1e9:.3g} GB"
        )
        return Plan(PLANNER.name, self, steps, verdicts, headline)


PLANNER = Planner(
    name="long_context",
    title="Million-token context",
    question="How long does a very long prompt take to its first token, and where does its KV live?",
    inputs=LongContextInputs,
    decides="dense_prefill_seconds",
    monotone=(
        Monotone("context_tokens", "dense_prefill_seconds"),
        Monotone("context_tokens", "kv_bytes_mla"),
        Monotone("gpus", "sparse_prefill_seconds", falls=True),
        Monotone("sparse_selected_tokens", "sparse_prefill_seconds"),
    ),
)

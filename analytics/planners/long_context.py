"""Plans a million-token context: prefill dense and sparse, KV bytes, the decode read floor; never splits a sequence."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from analytics.planners.form import Plan, PlannerInputs, Step, Verdict, number, whole
from analytics.planners.planner import Monotone, Planner

__all__ = ["PLANNER", "LongContextInputs"]

_DESIGN = "reference design of a million-token service on an MLA mixture of experts"
_OWN = "an assumption to measure"
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
    long_requests_per_second: float = number(0.02, "requests/s", 0, 1e5, "Arrivals in the long buckets.", _OWN)
    pool_utilisation: float = number(0.6, "ratio", 0.01, 1, "How busy the long pool may be.", _OWN)
    session_seconds: float = number(600, "s", 0.1, 1e7, "How long a long prompt's KV is kept.", _OWN)
    question_tokens: float = number(200, "tokens", 1, 1e7, "A question about the document.", _OWN)
    questions_per_document: float = number(10, "questions", 1, 1e6, "Questions about one document.", _DESIGN)
    store_read_bytes_per_second: float = number(
        48e9, "bytes/s", 1e3, 1e14, "Read-back of stored KV.", "8 drives x 6 GB/s"
    )

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
        more = self._pool(dense_seconds, sparse_seconds, kv_mla) + self._questions(document)
        return Plan(PLANNER.name, self, steps + more, verdicts, headline)

    def prefill_seconds(self, tokens: float, sparse: bool) -> float:
        """Return seconds to prefill `tokens` on all GPUs, with dense or sparse attention."""
        pairs = tokens * tokens / 2 * self.layers
        linear = 2 * self.active_parameters * tokens
        if sparse:
            chosen = tokens * self.sparse_selected_tokens * self.sparse_flops_per_selected * self.layers
            attention = pairs * self.index_flops_per_pair / 2 + chosen
        else:
            attention = pairs * self.dense_flops_per_pair
        return (linear + attention) / (self.gpus * self.gpu_flops * self.mfu)

    def _pool(self, dense_seconds: float, sparse_seconds: float, kv_bytes: float) -> tuple[Step, ...]:
        """Return the dedicated pool for the long buckets and where sparse attention starts to pay."""
        gain = self.dense_flops_per_pair - self.index_flops_per_pair / 2
        even = 2 * self.sparse_selected_tokens * self.sparse_flops_per_selected / gain if gain > 0 else None
        busy = self.long_requests_per_second / self.pool_utilisation
        groups = {"dense": ceil(busy * dense_seconds), "sparse": ceil(busy * sparse_seconds)}
        return (
            Step("break_even_tokens", even, "tokens", "where dense attention costs what indexer and selection cost"),
            Step("pool_groups", groups, "groups", "long requests/s x prefill seconds / utilisation, whole"),
            Step("pool_gpus", {kind: each * self.gpus for kind, each in groups.items()}, "GPUs", "groups x GPUs"),
            Step(
                "pool_kv_bytes",
                self.long_requests_per_second * self.session_seconds * kv_bytes,
                "bytes",
                "Little's law: long requests/s x seconds kept x KV of one",
            ),
        )

    def _questions(self, document_bytes: float) -> tuple[Step, ...]:
        """Return what several questions about one document cost, with and without its KV kept."""
        rate = self.gpus * self.gpu_flops * self.mfu
        asked = self.question_tokens
        linear = 2 * self.active_parameters * asked
        dense = asked * (self.document_tokens + asked / 2) * self.layers * self.dense_flops_per_pair
        first = self.prefill_seconds(self.document_tokens + asked, sparse=False)
        again = (linear + dense) / rate
        read = document_bytes / self.store_read_bytes_per_second
        count = self.questions_per_document
        uncached, cached = count * first, first + (count - 1) * (again + read)
        return (
            Step(
                "document_prefill_seconds",
                {
                    "dense": self.prefill_seconds(self.document_tokens, sparse=False),
                    "sparse": self.prefill_seconds(self.document_tokens, sparse=True),
                },
                "s",
                "the document alone, on all GPUs",
            ),
            Step("question_prefill_seconds", again, "s", "the question's tokens, attending to the whole document"),
            Step("document_read_seconds", read, "s", "the document's KV / read-back rate"),
            Step(
                "questions_seconds",
                {"uncached": uncached, "cached": cached},
                "s",
                "all questions with the document prefilled each time, and prefilled once and read back after",
            ),
            Step("questions_seconds_saved_ratio", 1 - cached / uncached, "ratio", "1 - cached / uncached"),
        )


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

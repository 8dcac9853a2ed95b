"""What one engine instance is to the replay: seats, KV, token budget and the time of one step; runs nothing."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Engine:
    """Parameters of a continuous-batching instance; seconds and tokens.

    One step takes `base + per_prefill_token * p + per_sequence * n + per_kv_token * kv + per_attention * p * context`
    for p prefill tokens beside n decoding sequences that hold kv tokens. The defaults resemble an 8B model on one
    80-GB GPU (2,048-token budget; weights read once per step); `calibrate` replaces them by what was recorded.
    """

    base_seconds: float = 0.008
    per_prefill_token_seconds: float = 4e-5
    per_sequence_seconds: float = 6e-5
    per_kv_token_seconds: float = 2e-8
    per_attention_seconds: float = 4e-10
    token_budget: int = 2048
    seats: int = 256
    kv_tokens: int = 400_000
    block_tokens: int = 16
    #: Tokens that one decode step yields per sequence (above 1 with speculation).
    tokens_per_step: float = 1.0
    #: Seconds of every request outside the steps: tokenising, HTTP, scheduling.
    overhead_seconds: float = 0.005
    #: Prompt tokens that the prefix cache may keep beside the running requests; 0 switches it off.
    cache_tokens: int = 0
    #: Prefill to decode transfer of one request, where roles are split.
    transfer_seconds: float = 0.005
    transfer_per_token_seconds: float = 1e-6

    def step_seconds(self, prefill_tokens: float, sequences: float, kv_tokens: float, context: float = 0.0) -> float:
        """Return the time of one step."""
        return (
            self.base_seconds
            + self.per_prefill_token_seconds * prefill_tokens
            + self.per_sequence_seconds * sequences
            + self.per_kv_token_seconds * kv_tokens
            + self.per_attention_seconds * prefill_tokens * context
        )

    def requests_per_second(
        self, input_tokens: float, output_tokens: float, ttft_seconds: float, tpot_seconds: float, cached: float = 0.0
    ) -> float:
        """Return the rate that one instance sustains within the objectives for one length, by the step model.

        The largest batch whose mixed step stays within the TPOT objective, seats and KV; a request then occupies the
        engine for its prefill and its share of the decode steps. 0.9 keeps the queue short enough for the TTFT.
        """
        computed = max(1.0, input_tokens * (1 - cached))
        prefill = self.per_prefill_token_seconds * computed + self.per_attention_seconds * computed * input_tokens / 2
        held = input_tokens + output_tokens / 2
        steps = max(1.0, output_tokens / self.tokens_per_step)
        best = 0.0
        batch = 1
        limit = int(min(self.seats, max(1.0, self.kv_tokens / held)))
        while batch <= limit:
            step = self.step_seconds(0, batch, batch * held)
            # In `steps` steps the batch turns over once: `batch` prefills are mixed in.
            period = steps * step + batch * prefill
            if period / steps / self.tokens_per_step <= tpot_seconds:
                best = max(best, batch / period)
            batch = max(batch + 1, int(batch * 1.15))
        return 0.9 * best if prefill + self.base_seconds <= ttft_seconds else 0.0

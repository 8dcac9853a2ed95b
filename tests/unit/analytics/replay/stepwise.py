"""A slow, plain continuous-batching engine that does every step by itself: the compiled replay's reference."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from analytics.replay import Arrivals, Engine


@dataclass
class _Request:
    row: int
    prompt: int
    owed: int
    left: int
    held: int = 0


def stepwise(load: Arrivals, engine: Engine) -> tuple[np.ndarray, np.ndarray]:
    """Return (first token, finish) times of one instance; without speculation, cache or preemption."""
    count = len(load)
    first, finished = np.full(count, np.nan), np.full(count, np.nan)
    waiting: deque[_Request] = deque()
    filling: _Request | None = None
    decoding: list[_Request] = []
    now, arriving = 0.0, 0
    while True:
        while arriving < count and load.seconds[arriving] <= now:
            prompt, output = int(load.input_tokens[arriving]), int(load.output_tokens[arriving])
            waiting.append(_Request(arriving, prompt, output, prompt - int(load.cached[arriving])))
            arriving += 1
        if not waiting and filling is None and not decoding:
            if arriving == count:
                return first, finished
            now = float(load.seconds[arriving])
            continue
        budget = engine.token_budget - len(decoding)
        computed: list[_Request] = []
        tokens = attention = 0.0
        held = sum(one.held for one in decoding) + (filling.held if filling else 0)
        while budget > 0:
            if filling is None:
                taken = len(decoding) + len(computed)
                if not waiting or taken >= engine.seats or held + waiting[0].prompt + 1 > engine.kv_tokens:
                    break
                filling = waiting.popleft()
                filling.held = filling.prompt
                held += filling.prompt
            chunk = min(filling.left, budget)
            budget -= chunk
            tokens += chunk
            attention += chunk * filling.prompt
            filling.left -= chunk
            if filling.left == 0:
                computed.append(filling)
                filling = None
        mixed = tokens > 0
        now += engine.base_seconds + engine.per_prefill_token_seconds * tokens
        now += engine.per_sequence_seconds * len(decoding) + engine.per_kv_token_seconds * held
        now += engine.per_attention_seconds * attention if mixed else 0.0
        for one in decoding:
            one.owed -= 1
            one.held += 1
        for one in computed:
            first[one.row] = now + engine.overhead_seconds
            one.owed -= 1
            one.held += 1
        decoding += computed
        for one in decoding:
            if one.owed <= 0:
                finished[one.row] = now + engine.overhead_seconds
        decoding = [one for one in decoding if one.owed > 0]

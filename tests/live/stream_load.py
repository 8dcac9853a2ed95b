"""A bounded load of streamed completions, and what the client itself counted and timed."""

from __future__ import annotations

import http.client
import json
import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Told:
    """One request as its client saw it: the engine's id, tokens by the answer's own count, seconds of every token."""

    request_id: str
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    sent_at: float
    token_at: tuple[float, ...]

    @property
    def ttft_seconds(self) -> float:
        return self.token_at[0] - self.sent_at

    @property
    def gaps_seconds(self) -> list[float]:
        return [after - before for before, after in zip(self.token_at, self.token_at[1:], strict=False)]


@dataclass(frozen=True, slots=True)
class Load:
    """How many requests, how many at once, and the lengths that a seed draws."""

    requests: int
    at_once: int
    seed: int
    input_words: tuple[int, int] = (4, 160)
    output_tokens: tuple[int, int] = (3, 24)


def run(url: str, model: str, load: Load) -> list[Told]:
    """Send the load and wait for every answer."""
    draw = random.Random(load.seed)
    shapes = [(draw.randint(*load.input_words), draw.randint(*load.output_tokens)) for _ in range(load.requests)]
    asked = [(" ".join(f"w{draw.randint(2, 2_000)}" for _ in range(words)), tokens) for words, tokens in shapes]
    with ThreadPoolExecutor(load.at_once) as pool:
        return list(pool.map(lambda shape: complete(url, model, *shape), asked))


def leave(url: str, model: str, tokens: int) -> None:
    """Ask for a long answer and hang up after the first token."""
    _stream(url, model, "w2 w3 w4", tokens, lambda _event: False)


def complete(url: str, model: str, prompt: str, tokens: int) -> Told:
    """Stream one completion to its end."""
    events: list[tuple[float, dict[str, object]]] = []

    def take(event: dict[str, object]) -> bool:
        events.append((time.perf_counter(), event))
        return True

    sent_at = time.perf_counter()
    _stream(url, model, prompt, tokens, take)
    token_at = tuple(at for at, event in events if _text(event))
    usage = next(event["usage"] for _, event in events if event.get("usage"))
    assert isinstance(usage, dict)
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
    name = str(events[0][1]["id"]).removeprefix("cmpl-")
    return Told(name, usage["prompt_tokens"], cached, usage["completion_tokens"], sent_at, token_at)


def _stream(url: str, model: str, prompt: str, tokens: int, take: Callable[[dict[str, object]], bool]) -> None:
    """Post a completion and give each event to `take` until it wants no more."""
    body = {
        "model": model,
        "prompt": prompt,
        "max_tokens": tokens,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
    try:
        connection.request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        for line in answer:
            data = line.removeprefix(b"data:").strip()
            if data and data != b"[DONE]" and not take(json.loads(data)):
                return
    finally:
        connection.close()


def _text(event: dict[str, object]) -> str:
    choices = event.get("choices")
    return str(choices[0].get("text") or "") if isinstance(choices, list) and choices else ""

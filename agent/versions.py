"""Asks an engine for its version where its page does not say it; asks once a life, and takes no answer for an answer.

All of these paths only read.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from urllib.parse import urlsplit, urlunsplit

from agent.fetch import Answer
from signals.errors import SloscopeError

#: Engine → path and key: vLLM's and TensorRT-LLM's /version, SGLang's /get_server_info, llama.cpp's /props, TGI's
#: /info, LiteLLM's /health/readiness.
PLACES: dict[str, tuple[str, str]] = {
    "vllm": ("/version", "version"),
    "trtllm": ("/version", "version"),
    "sglang": ("/get_server_info", "version"),
    "llamacpp": ("/props", "build_info"),
    "tgi": ("/info", "version"),
    "litellm": ("/health/readiness", "litellm_version"),
}
#: Longer texts are something else.
MAX_TEXT = 80


def ask_version(engine: str, page_url: str, get: Callable[[str], Answer]) -> str | None:
    """Return the engine's version, or None."""
    if engine not in PLACES:
        return None
    path, key = PLACES[engine]
    try:
        answer = get(urlunsplit(urlsplit(page_url)._replace(path=path, query="")))
        found = json.loads(answer.body) if answer.status == 200 else None
    except (SloscopeError, ValueError):
        return None
    version = found.get(key) if isinstance(found, dict) else None
    return version if isinstance(version, str) and 0 < len(version) <= MAX_TEXT else None

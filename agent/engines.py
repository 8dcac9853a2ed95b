"""Decides which path of an engine is its metrics page, and which engine answers; never fetches a destructive path.

TensorRT-LLM's `/metrics` empties a queue when it is read, so an unknown server is first asked for
`/prometheus/metrics` (404 everywhere else) and for the owner of its models.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from urllib.parse import urlsplit, urlunsplit

from agent.fetch import Answer
from signals.dialects import registry
from signals.dialects.form import Dialect
from signals.errors import ConfigError, UnreachableError

PLAIN_PATH = "/metrics"
TRTLLM_PATH = "/prometheus/metrics"
#: What TensorRT-LLM's OpenAI server calls the owner of its models (tensorrt_llm/serve/openai_protocol.py).
TRTLLM_OWNER = "tensorrt"

Get = Callable[[str], Answer]


def page_url(url: str, dialect: Dialect | None, allow_destructive: bool = False) -> str | None:
    """Return where the page is, or None when only the server can tell (no path, engine unknown).

    Raise ConfigError for a path that must not be fetched.
    """
    parts = urlsplit(url)
    path = parts.path.rstrip("/")
    if dialect is None:
        return url if path else None
    if not path:
        return urlunsplit(parts._replace(path=dialect.paths[0]))
    if not allow_destructive and path in dialect.never_get:
        raise ConfigError(
            f"{url}: reading {path} of {dialect.title} takes data away from other readers; use {dialect.paths[0]}"
        )
    return url


def find_page(url: str, get: Get) -> str:
    """Return the page of an unknown server, given as `http://host:port`. Raise ConfigError for a destructive one."""
    parts = urlsplit(url)

    def at(path: str) -> str:
        return urlunsplit(parts._replace(path=path))

    if _answers(get, at(TRTLLM_PATH)):
        return at(TRTLLM_PATH)
    owner = _owner(get, at("/v1/models"))
    if TRTLLM_OWNER in owner:
        raise ConfigError(f"{url}: TensorRT-LLM without {TRTLLM_PATH}; start it with return_perf_metrics: true")
    return at(PLAIN_PATH)


def get_dialect(engine: str | None) -> Dialect | None:
    return registry.get(engine) if engine else None


def _answers(get: Get, url: str) -> bool:
    answer = get(url)
    return answer.status == 200 and b"# TYPE" in answer.body[:4096]


def _owner(get: Get, url: str) -> str:
    try:
        answer = get(url)
        models = json.loads(answer.body) if answer.status == 200 else {}
        return str(models["data"][0].get("owned_by", "")).lower()
    except (UnreachableError, ValueError, KeyError, IndexError, TypeError, AttributeError):
        return ""

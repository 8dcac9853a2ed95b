"""Decides which path of an engine is its metrics page, and which engine answers; never fetches a destructive path.

TensorRT-LLM's `/metrics` is a queue that reading empties, so an unknown server is first asked for the path that tells
that engine apart, and for the owner of its models.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from urllib.parse import urlsplit, urlunsplit

from agent.fetch import Answer
from signals.dialects import registry
from signals.dialects.form import Dialect
from signals.dialects.probing import MODELS_PATH, candidate_paths, may_get, owner_engine
from signals.errors import ConfigError, PageError, UnreachableError

Get = Callable[[str], Answer]
#: How much of a body tells a page from anything else.
HEAD = 16_384


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
    if not allow_destructive and not may_get(dialect.engine, path):
        raise ConfigError(
            f"{url}: reading {path} of {dialect.title} takes data away from other readers; use {dialect.paths[0]}"
        )
    return url


def find_page(url: str, get: Get) -> str:
    """Return the page of an unknown server, given as `http://host:port`. Raise PageError when it has none."""
    parts = urlsplit(url)
    asked = []
    owner: str | None = None
    for place, path in enumerate(candidate_paths()):
        if place == 1:
            owner = _owner(get, urlunsplit(parts._replace(path=MODELS_PATH)))
            if owner is not None and registry.get(owner).never_get:
                break
        page = urlunsplit(parts._replace(path=path))
        asked.append(path)
        if _is_page(get(page)):
            return page
    raise PageError(f"{url}: no metrics page at {', '.join(asked)}" + (f" (the engine is {owner})" if owner else ""))


def get_dialect(engine: str | None) -> Dialect | None:
    return registry.get(engine) if engine else None


def _is_page(answer: Answer) -> bool:
    return answer.status == 200 and (b"# TYPE" in answer.body[:HEAD] or b"# HELP" in answer.body[:HEAD])


def _owner(get: Get, url: str) -> str | None:
    """Return the engine that owns the models, as far as the server says."""
    try:
        answer = get(url)
        models = json.loads(answer.body) if answer.status == 200 else None
    except (UnreachableError, ValueError):
        return None
    return owner_engine(models) if isinstance(models, dict) else None

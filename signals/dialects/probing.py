"""Says which paths of an unknown server may be asked, and in which order; never names one whose reading takes data.

The owner of the models in `/v1/models` tells most engines apart without touching their metrics; TensorRT-LLM's
`/metrics` is a queue that reading empties, so its Prometheus path comes first and rules the other one out.
"""

from __future__ import annotations

from collections.abc import Mapping

from signals.dialects import registry

#: Answers on every OpenAI-compatible server and changes nothing.
MODELS_PATH = "/v1/models"


def candidate_paths(engine: str | None = None) -> tuple[str, ...]:
    """Return metric paths in the order in which to ask; for an unknown engine, dangerous ones last.

    Stop at the first that answers with a page. A path that some engine must not be asked for comes after every path
    that would have told that engine apart, and `owner_engine` should have been asked before it.

    >>> candidate_paths("trtllm"), candidate_paths()[0], candidate_paths()[-1]
    (('/prometheus/metrics',), '/prometheus/metrics', '/metrics')
    """
    if engine is not None:
        return registry.get(engine).paths
    dialects = registry.DIALECTS.values()
    destructive = {path for dialect in dialects for path in dialect.never_get}
    guards = [path for dialect in dialects if dialect.never_get for path in dialect.paths]
    others = [path for dialect in dialects for path in dialect.paths]
    ordered = dict.fromkeys([*guards, *(path for path in others if path not in destructive), *others])
    return tuple(ordered)


def owner_engine(models: Mapping[str, object]) -> str | None:
    """Return the engine that an answer of `/v1/models` names as owner, or None.

    >>> owner_engine({"data": [{"id": "m", "owned_by": "tensorrt_llm"}]})
    'trtllm'
    """
    listed = models.get("data")
    for model in listed if isinstance(listed, list) else []:
        owner = str(model.get("owned_by", "")).lower() if isinstance(model, Mapping) else ""
        for dialect in registry.DIALECTS.values():
            if owner and owner in dialect.owners:
                return dialect.engine
    return None


def may_get(engine: str | None, path: str) -> bool:
    """Return whether reading a path of an engine takes nothing away from anybody."""
    return engine is None or path.rstrip("/") not in registry.get(engine).never_get


def version_of(engine: str, answer: Mapping[str, object]) -> str | None:
    """Return the engine version in the JSON answer of `version_at`, or None.

    >>> version_of("vllm", {"version": "0.32.0"})
    '0.32.0'
    """
    at = registry.get(engine).version_at
    found = answer.get(at[1]) if at else None
    return str(found) if isinstance(found, str | int | float) and str(found) else None

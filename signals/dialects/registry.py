"""Every dialect by engine name, which one a page speaks, and the request halves in any batch of spans."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from signals.dialects.canonical import CANONICAL
from signals.dialects.dcgm import DCGM
from signals.dialects.dynamo import DYNAMO
from signals.dialects.dynamo_worker import DYNAMO_WORKER
from signals.dialects.envoy_aigw import ENVOY_AIGW
from signals.dialects.epp import EPP
from signals.dialects.form import Dialect, normal
from signals.dialects.litellm import LITELLM
from signals.dialects.llamacpp import LLAMACPP
from signals.dialects.lmcache import LMCACHE
from signals.dialects.lmdeploy import LMDEPLOY
from signals.dialects.mooncake import MOONCAKE
from signals.dialects.ray_serve import RAY_SERVE
from signals.dialects.sglang import SGLANG
from signals.dialects.smg import SMG
from signals.dialects.tgi import TGI
from signals.dialects.triton import TRITON
from signals.dialects.trtllm import TRTLLM
from signals.dialects.vllm import VLLM
from signals.errors import UnknownNameError
from signals.pages import Layout
from signals.spans import RequestHalf, Span

#: In the order of detection: gateways and routers before engines whose names they may repeat.
DIALECTS: dict[str, Dialect] = {
    dialect.engine: dialect
    for dialect in (
        CANONICAL, DYNAMO, DYNAMO_WORKER, LITELLM, EPP, SMG, ENVOY_AIGW, VLLM, SGLANG, TRTLLM, LLAMACPP, TRITON,
        LMDEPLOY, TGI, RAY_SERVE, LMCACHE, MOONCAKE, DCGM,
    )
}  # fmt: skip


def get(engine: str) -> Dialect:
    """Return the dialect of an engine name; UnknownNameError names the nearest."""
    try:
        return DIALECTS[engine]
    except KeyError:
        raise UnknownNameError("engine", engine, DIALECTS) from None


def detect(layout: Layout) -> Dialect | None:
    """Return the dialect of a page, or None when it speaks none: a mark decides, else most families do.

    Families that are declared and have no series yet count too: a gateway before its first request has nothing else.
    """
    families = {normal(series.family) for series in layout.series} | {normal(name) for name in layout.kinds}
    for dialect in DIALECTS.values():
        if dialect.marks and any(family.startswith(dialect.marks) for family in families):
            return dialect
    scores = {
        dialect.engine: sum(family.startswith(dialect.prefixes) for family in families)
        for dialect in DIALECTS.values()
        if not dialect.marks
    }
    best = max(scores, key=lambda engine: scores[engine])
    return DIALECTS[best] if scores[best] else None


def repeated(layout: Layout) -> str | None:
    """Return the engine whose own families a Dynamo worker's page repeats: a direct scrape of it would count twice."""
    families = {normal(series.family) for series in layout.series}
    if not any(family.startswith(DYNAMO_WORKER.marks) for family in families):
        return None
    engines = (VLLM, SGLANG, TRTLLM)
    return next((e.engine for e in engines if any(name.startswith(e.prefixes) for name in families)), None)


def log_half(record: Mapping[str, object]) -> RequestHalf | None:
    """Return the request half of one JSON line of any request log that a dialect knows, or None."""
    return next((half for dialect in DIALECTS.values() if (half := dialect.line(record)) is not None), None)


def request_halves(spans: Iterable[Span]) -> list[RequestHalf]:
    """Return the request halves that any dialect finds; each looks only at its own spans."""
    batch = list(spans)
    return [half for dialect in DIALECTS.values() for half in dialect.halves(batch)]

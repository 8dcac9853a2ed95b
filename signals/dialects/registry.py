"""Every dialect by engine name, which one a page speaks, and the request halves in any batch of spans."""

from __future__ import annotations

from collections.abc import Iterable

from signals.dialects.form import Dialect, normal
from signals.dialects.litellm import LITELLM
from signals.dialects.vllm import VLLM
from signals.errors import UnknownNameError
from signals.pages import Layout
from signals.spans import RequestHalf, Span

#: In the order of detection: gateways and routers before engines whose names they may repeat.
DIALECTS: dict[str, Dialect] = {dialect.engine: dialect for dialect in (LITELLM, VLLM)}


def get(engine: str) -> Dialect:
    """Return the dialect of an engine name; UnknownNameError names the nearest."""
    try:
        return DIALECTS[engine]
    except KeyError:
        raise UnknownNameError("engine", engine, DIALECTS) from None


def detect(layout: Layout) -> Dialect | None:
    """Return the dialect that most of the page's families belong to, or None when none does."""
    families = {normal(series.family) for series in layout.series}
    scores = {
        dialect.engine: sum(family.startswith(dialect.prefixes) for family in families) for dialect in DIALECTS.values()
    }
    best = max(scores, key=lambda engine: scores[engine])
    return DIALECTS[best] if scores[best] else None


def request_halves(spans: Iterable[Span]) -> list[RequestHalf]:
    """Return the request halves that any dialect finds; each looks only at its own spans."""
    batch = list(spans)
    return [half for dialect in DIALECTS.values() for half in dialect.halves(batch)]

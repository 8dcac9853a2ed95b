"""Writes the signal reference from the catalog and the dialects; `python -m signals.catalogdoc` prints it."""

from __future__ import annotations

import sys

from signals.catalog import ENGINE, RESOURCE, SAMPLE_COLUMNS, SIGNALS, USER, Signal
from signals.dialects.canonical import CANONICAL
from signals.dialects.registry import DIALECTS

_LAYERS = (
    (USER, "What users feel"),
    (ENGINE, "What engines and gateways do"),
    (RESOURCE, "What hardware does"),
)
_KINDS = ("gauge", "counter", "histogram")
_HEAD = """\
# Signals

Every canonical signal, made from the catalog (`signals/catalog.py`) and the dialects' rules; do not edit by hand:
`python -m signals.catalogdoc > docs/reference/signals.md`.

A signal is called `NAME` in SQL, `sloscope.NAME` on OTLP and `sloscope_NAME` with Prometheus' unit and type endings on
a Prometheus page. Counters travel and are stored as increments. **Stored in**: a column of `engine_samples`, rows of
`engine_bins` (histograms), or rows of `signal_samples` with attributes. **Said by** lists the dialects whose pages
carry it. A signal that no engine's page carries comes from a sender of your own: a page with `sloscope_NAME` families
(`engine: sloscope`), OTLP metrics `sloscope.NAME`, or import; such a sender may write any of these names. GPU and host
columns are in the schema reference under `gpu_samples` and `host_samples`.
"""


def markdown() -> str:
    """Return the whole page."""
    parts = [_HEAD]
    for layer, title in _LAYERS:
        for kind in _KINDS:
            found = [signal for signal in SIGNALS.values() if (signal.layer, signal.kind) == (layer, kind)]
            if found:
                parts.append(
                    f"\n## {title}: {kind}s\n\n| signal | unit | meaning | stored in | attributes | said by |\n"
                )
                parts.append("|---|---|---|---|---|---|\n")
                parts.extend(_row(signal) for signal in found)
    return "".join(parts)


def _row(signal: Signal) -> str:
    engines, attributes = _said(signal.name)
    store = "engine_samples" if signal.name in SAMPLE_COLUMNS else "signal_samples"
    if signal.kind == "histogram":
        store = "engine_bins"
    cells = (f"`{signal.name}`", f"`{signal.unit}`", signal.help, store, ", ".join(attributes), ", ".join(engines))
    return "| " + " | ".join(cells) + " |\n"


def _said(name: str) -> tuple[list[str], list[str]]:
    """Return the engines that say a signal, and the attributes that any of them puts on it."""
    engines, attributes = [], set()
    for dialect in DIALECTS.values():
        if dialect is CANONICAL:
            continue
        rules = [rule for rule in dialect.rules if name in (rule.signal, rule.sum_as, rule.count_as)]
        if rules:
            engines.append(dialect.engine)
        for rule in rules:
            attributes |= {*rule.by.values(), *rule.attributes}
    return engines, sorted(attributes)


if __name__ == "__main__":
    sys.stdout.write(markdown())

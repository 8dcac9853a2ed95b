"""Writes the canonical signals as a Prometheus page, for people who have a Prometheus already; keeps nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from agent.outputs.totals import Account, Labels
from signals.catalog import SIGNALS
from signals.records import Target

PREFIX = "sloscope_"
RESERVED = ("_count", "_sum", "_bucket", "_total")
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def page(accounts: Iterable[Account]) -> bytes:
    """Return the page of all targets."""
    families: dict[tuple[str, str], list[str]] = {}
    for account in accounts:
        target = _target_labels(account.target)
        families.setdefault(("up", "gauge"), []).append(f"{PREFIX}up{_braces(target)} {int(account.up)}")
        for (signal, labels), value in account.gauges.items():
            name = _name(signal, "gauge")
            families.setdefault((signal, "gauge"), []).append(f"{name}{_braces(target + labels)} {_number(value)}")
        for (signal, labels), value in account.counters.items():
            name = _name(signal, "counter")
            families.setdefault((signal, "counter"), []).append(f"{name}{_braces(target + labels)} {_number(value)}")
        for (signal, labels, edges), running in account.histograms.items():
            lines = families.setdefault((signal, "histogram"), [])
            lines.extend(_histogram(PREFIX + signal, target + labels, edges, running.counts, running.sum))
    return "".join(_text(families)).encode()


def _name(signal: str, kind: str) -> str:
    """Return the name on the page: counters end in _total, and only histograms may end like a histogram's parts."""
    suffix = "_total" if kind == "counter" else "_current" if kind == "gauge" and signal.endswith(RESERVED) else ""
    return PREFIX + signal + suffix


def _text(families: dict[tuple[str, str], list[str]]) -> Iterator[str]:
    for (signal, kind), lines in sorted(families.items()):
        name = _name(signal, kind)
        text = SIGNALS[signal].help if signal in SIGNALS else "whether the last scrape was good"
        yield f"# HELP {name} {text}\n# TYPE {name} {kind}\n"
        for line in lines:
            yield line + "\n"


def _histogram(name: str, labels: Labels, edges: tuple[float, ...], counts: list[int], total: float) -> Iterator[str]:
    below = 0
    for edge, count in zip((*(_number(edge) for edge in edges), "+Inf"), counts, strict=True):
        below += count
        yield f"{name}_bucket{_braces((*labels, ('le', edge)))} {below}"
    yield f"{name}_sum{_braces(labels)} {_number(total)}"
    yield f"{name}_count{_braces(labels)} {below}"


def _target_labels(target: Target) -> Labels:
    named = (
        ("instance", target.instance),
        ("engine", target.engine),
        ("pool", target.pool),
        ("region", target.region),
        ("model_version", target.model_version),
    )
    return tuple((name, value) for name, value in named if value)


def _braces(labels: Labels) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels) + "}" if labels else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)

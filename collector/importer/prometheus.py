"""Backfills from a Prometheus server: raw engine series by query_range, through the same dialects as live pages.

`prometheus://HOST:PORT?start=..&end=..[&step=15][&match=..][&tls=1]`. Every (target, time) has its own
identity, so an interrupted import is simply run again: what is stored is skipped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import parse_qs, urlsplit

import httpx

from collector.importer.recordings import PageHistory
from signals.dialects.registry import DIALECTS
from signals.errors import ConfigError, InputError, UnreachableError, nearest
from signals.records import Identity, Scrape, Target

#: Prometheus refuses more than 11,000 points a series; a chunk stays well below.
CHUNK_POINTS = 1_000
DEFAULT_STEP_SECONDS = 15.0
PARAMETERS = ("start", "end", "step", "match", "tls")


@dataclass(frozen=True, slots=True)
class Backfill:
    """What to fetch: base URL, time range in Unix seconds, step and selector."""

    base: str
    start: float
    end: float
    step: float
    match: str


def parse_url(url: str) -> Backfill:
    """Return the backfill that a URL asks for; ConfigError names the parameter that is wrong."""
    parts = urlsplit(url)
    query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    faults = [f"unknown parameter {name!r}{nearest(name, PARAMETERS)}" for name in query if name not in PARAMETERS]
    faults += [f"{name}: is needed, RFC 3339 or Unix seconds" for name in ("start", "end") if name not in query]
    times = {}
    for name in ("start", "end"):
        if name in query:
            try:
                times[name] = _seconds(query[name])
            except ValueError:
                faults.append(f"{name}: expected RFC 3339 or Unix seconds, got {query[name]!r}")
    step = DEFAULT_STEP_SECONDS
    try:
        step = float(query.get("step", step))
    except ValueError:
        faults.append(f"step: expected seconds, got {query['step']!r}")
    if step <= 0:
        faults.append(f"step: expected more than 0 seconds, got {step}")
    if len(times) == 2 and times["end"] <= times["start"]:
        faults.append("end: must be after start")
    if faults:
        raise ConfigError(f"{url}:", faults)
    scheme = "https" if query.get("tls") in {"1", "true"} else "http"
    base = f"{scheme}://{parts.netloc}{parts.path.rstrip('/')}"
    return Backfill(base, times["start"], times["end"], step, query.get("match", _default_match()))


def prometheus_scrapes(url: str, faults: list[str]) -> Iterator[Scrape]:
    """Yield the scrapes of every target in the range, in time order per target."""
    asked = parse_url(url)
    histories: dict[str, PageHistory] = {}
    with httpx.Client(base_url=asked.base, timeout=60.0) as client:
        begin = asked.start
        while begin <= asked.end:
            until = min(asked.end, begin + asked.step * CHUNK_POINTS)
            for target, pages in _chunk(client, asked, begin, until).items():
                history = histories.setdefault(target, PageHistory(Target(target)))
                for time in sorted(pages):
                    identity = Identity(f"prometheus:{asked.base}", target, round(time * 1000))
                    scrape = history.scrape(_page(pages[time]), round(time * 1e9), identity)
                    if scrape.error and not scrape.increments:
                        faults.append(f"{target} at {time}: {scrape.error}")
                    yield scrape
            begin = until + asked.step


def _chunk(
    client: httpx.Client, asked: Backfill, begin: float, until: float
) -> dict[str, dict[float, list[tuple[dict[str, str], str]]]]:
    params = {"query": asked.match, "start": f"{begin}", "end": f"{until}", "step": f"{asked.step}"}
    try:
        answer = client.get("/api/v1/query_range", params=params)
        answer.raise_for_status()
        body = answer.json()
        results = body["data"]["result"]
    except httpx.HTTPStatusError as error:
        raise InputError(f"{asked.base} answered {error.response.status_code}: {error.response.text[:200]}") from error
    except httpx.HTTPError as error:
        raise UnreachableError(f"{asked.base} does not answer: {error}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{asked.base} answered no Prometheus query result: {error}") from error
    targets: dict[str, dict[float, list[tuple[dict[str, str], str]]]] = {}
    for series in results:
        labels = dict(series["metric"])
        target = labels.pop("instance", "prometheus")
        labels.pop("job", None)
        for time, value in series["values"]:
            targets.setdefault(target, {}).setdefault(float(time), []).append((labels, value))
    return targets


def _page(samples: list[tuple[dict[str, str], str]]) -> str:
    """Return the samples of one target at one time as a text page, families with their kinds."""
    lines = []
    declared: set[str] = set()
    for labels, value in sorted(samples, key=lambda item: (item[0].get("__name__", ""), sorted(item[0].items()))):
        name = labels.get("__name__", "")
        if name.endswith("_bucket") and "le" in labels:
            family, kind = name.removesuffix("_bucket"), "histogram"
        elif name.endswith("_total"):
            family, kind = name, "counter"
        else:
            family, kind = name, ""
        if kind and family not in declared:
            declared.add(family)
            lines.append(f"# TYPE {family} {kind}")
        text = ",".join(f'{key}="{_escaped(word)}"' for key, word in sorted(labels.items()) if key != "__name__")
        lines.append(f"{name}{{{text}}} {value}")
    return "\n".join(sorted(lines, key=lambda line: not line.startswith("#"))) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _default_match() -> str:
    names = "|".join(sorted({prefix.rstrip("_") for dialect in DIALECTS.values() for prefix in dialect.prefixes}))
    return f'{{__name__=~"({names})[:_].*|process_start_time_seconds"}}'


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()

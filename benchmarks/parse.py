"""Measures the page parser against prometheus_client: speed on recorded pages, equality on 10,000 fuzzed ones.

Run `python -m benchmarks.parse`; `--pages N` sets the number of fuzzed pages, `--seed S` their seed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from random import Random
from statistics import median
from time import perf_counter

from prometheus_client.parser import text_string_to_metric_families

from benchmarks.report import Row, write
from signals.dialects.reader import PageReader
from signals.dialects.registry import detect
from signals.errors import PageError
from signals.pages import Page, PageParser
from tests.support import fuzz, pages

PAGES = ("vllm-0172", "litellm-0055", "dynamo-frontend-0070", "sglang-unified", "llamacpp-0010")


def _milliseconds(times: int, *calls: Callable[[], object]) -> list[float]:
    """Return the median of each call; they take turns, so that a busy machine slows all of them alike."""
    spent: list[list[float]] = [[] for _ in calls]
    for _ in range(times):
        for place, call in enumerate(calls):
            start = perf_counter()
            call()
            spent[place].append(perf_counter() - start)
    return [median(found) * 1e3 for found in spent]


def _theirs(text: str) -> list[object]:
    return [family.samples for family in text_string_to_metric_families(text)]


def _first(text: str) -> Page:
    return PageParser().parse(text)


def _next(parser: PageParser, texts: Iterator[str]) -> Page:
    return parser.parse(next(texts))


def speeds() -> list[Row]:
    """Compare on an unchanged layout (the first row is the vLLM page's), on a first page and on a changed one."""
    rows = []
    for name in PAGES:
        text = pages.read(name)
        lines = text.split("\n")
        parser = PageParser()
        page = parser.parse(text)
        samples = [i for i, line in enumerate(lines) if line and line[0] != "#"]
        changed = ["\n".join(lines[:i] + lines[i + 1 :]) for i in samples[: min(20, len(samples) - 2)]]
        dialect = detect(page.layout)
        assert dialect is not None
        reader = PageReader(dialect)
        slow, fast, first, read = _milliseconds(
            40, partial(_theirs, text), partial(parser.parse, text), partial(_first, text), partial(reader.read, page)
        )
        variants = iter(changed)
        (relearn,) = _milliseconds(len(changed), partial(_next, parser, variants))
        rows.append(Row(f"fast_parse_speedup_{name}", slow / fast, "x prometheus_client"))
        rows.append(Row(f"fast_parse_ms_{name}", fast, "ms", "prometheus_client", fast / slow))
        rows.append(Row(f"first_page_ms_{name}", first, "ms", "prometheus_client", first / slow))
        rows.append(Row(f"changed_page_ms_{name}", relearn, "ms", "prometheus_client", relearn / slow))
        rows.append(Row(f"read_ms_{name}", read, "ms"))
    vllm = next(row.value for row in rows if row.item == f"fast_parse_speedup_{PAGES[0]}")
    return [Row("fast_parse_speedup", vllm, "x prometheus_client"), *rows]


def differences(count: int, seed: int) -> tuple[int, int, int]:
    """Return (fuzzed pages, of those refused whole by both, differing pages)."""
    random = Random(seed)
    texts = [pages.read(name) for name in pages.names()]
    parsers = [PageParser() for _ in texts]
    refused = differing = 0
    for _ in range(count):
        place = random.randrange(len(texts))
        clean = fuzz.excerpt(texts[place], random, random.choice((5, 20, 60)))
        text = fuzz.mutate(clean, random)
        theirs = fuzz.oracle(text)
        with suppress(PageError):  # so that its layout is known: what did not change takes the fast path
            parsers[place].parse(clean)
        try:
            found = fuzz.ours(parsers[place].parse(text))
        except PageError:
            refused += 1
            found = []
            if text.lstrip()[:1] == "<":
                continue
        if found != theirs:
            differing += 1
            print(f"differs, seed {seed}: {text!r}\n  ours   {found}\n  theirs {theirs}")
    return count, refused, differing


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--pages", type=int, default=10_000)
    arguments.add_argument("--seed", type=int, default=20_261_129)
    given = arguments.parse_args()
    rows = speeds()
    recorded = sum(
        not fuzz.same_names(fuzz.ours(PageParser().parse(pages.read(name))), fuzz.whole_page(pages.read(name)) or [])
        for name in pages.names()
    )
    count, refused, differing = differences(given.pages, given.seed)
    rows.append(Row("recorded_pages_differing", recorded, f"of {len(pages.names())}"))
    rows.append(Row("fuzzed_pages_differing", differing, f"of {count}"))
    rows.append(Row("fuzzed_pages_without_a_sample", refused, f"of {count}"))
    write("parse", rows)


if __name__ == "__main__":
    main()

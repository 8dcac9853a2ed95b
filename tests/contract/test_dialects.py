"""Every dialect keeps the same promises, on recorded pages where there are any and on a page made from its rules."""

from __future__ import annotations

from dataclasses import replace

import pytest

from signals.catalog import COUNTER as COUNTER_SIGNAL
from signals.catalog import GAUGE as GAUGE_SIGNAL
from signals.catalog import HISTOGRAM as HISTOGRAM_SIGNAL
from signals.catalog import kind_of
from signals.dialects.form import COUNTER, GAUGE, HISTOGRAM, INFO, NAMES, VALUE, Dialect, selector
from signals.dialects.reader import PageReader
from signals.dialects.registry import DIALECTS, detect
from signals.pages import Page, PageParser
from signals.readings import Attributes, advance
from signals.views.fleet import GPU_SAMPLES
from tests.support import pages

RECORDED = [(name.partition("-")[0], name) for name in pages.names() if name.partition("-")[0] in DIALECTS]
KINDS = {GAUGE: GAUGE_SIGNAL, NAMES: GAUGE_SIGNAL, COUNTER: COUNTER_SIGNAL, HISTOGRAM: HISTOGRAM_SIGNAL}


def parse(text: str) -> Page:
    return PageParser().parse(text)


def page_of(dialect: Dialect, alias: int = 0, amount: float = 3.0) -> str:
    """Return a page on which every rule of a dialect finds one alias: the last one where it has not so many."""
    shown: dict[str, str] = {}
    for rule in dialect.rules:
        raw = rule.raw[min(alias, len(rule.raw) - 1)]
        name = raw.partition("{")[0]
        wanted = {label: values[0] for label, values in (*selector(raw)[1], *rule.where.items())}
        labels = {label: "x" if value == "*" else value for label, value in wanted.items() if value}
        for label in (*rule.by, *rule.facts):
            labels.setdefault(label, "1")
        if not dialect.gateway and dialect.model_labels:
            labels.setdefault(dialect.model_labels[0], "m")
        shown[f"{name}|{sorted(labels.items())}"] = _family(name, rule.kind, labels, amount)
    return "".join(shown.values())


def _family(name: str, kind: str, labels: dict[str, str], amount: float) -> str:
    def line(part: str, **more: str) -> str:
        inner = ",".join(f'{label}="{value}"' for label, value in sorted({**labels, **more}.items()))
        return f"{name}{part}{{{inner}}} {amount}\n" if inner else f"{name}{part} {amount}\n"

    if kind == HISTOGRAM:
        parts = [line("_bucket", le="1.0"), line("_bucket", le="+Inf"), line("_sum"), line("_count")]
        return f"# TYPE {name} histogram\n" + "".join(parts)
    base = name.removesuffix("_sum").removesuffix("_count")
    if base != name and kind == COUNTER:
        return f"# TYPE {base} summary\n{line('')}"
    return f"# TYPE {name} {'counter' if kind == COUNTER else 'gauge'}\n{line('')}"


@pytest.mark.parametrize(("engine", "name"), RECORDED)
def test_a_recorded_page_is_detected_as_its_own_dialect(engine: str, name: str) -> None:
    found = detect(parse(pages.read(name)).layout)
    assert found is not None
    assert found.engine == engine


@pytest.mark.parametrize(("engine", "name"), RECORDED)
def test_a_recorded_page_has_no_family_that_the_dialect_does_not_know(engine: str, name: str) -> None:
    reader = PageReader(DIALECTS[engine], "m")
    assert reader.plan(parse(pages.read(name)).layout).unknown == ()


@pytest.mark.parametrize("engine", sorted({engine for engine, _ in RECORDED}))
def test_what_a_dialect_expects_is_on_at_least_one_recorded_page(engine: str) -> None:
    reader = PageReader(DIALECTS[engine], "m")
    missing = [set(reader.plan(parse(pages.read(name)).layout).missing) for name in pages.names(engine)]
    assert set.intersection(*missing) == set()


@pytest.mark.parametrize(("engine", "name"), RECORDED)
def test_the_first_page_contributes_nothing_and_the_same_page_again_adds_nothing(engine: str, name: str) -> None:
    reader = PageReader(DIALECTS[engine], "m")
    reading = reader.read(parse(pages.read(name)))
    state, first = advance(None, reading)
    assert all(not found.counters and not found.histograms for found in first)
    _, second = advance(state, reading)
    assert all(amount == 0 for found in second for amount in found.counters.values())
    assert all(not any(h.counts) and h.sum == 0 for found in second for h in found.histograms)
    assert not any(found.moved for found in second)


@pytest.mark.parametrize(("engine", "name"), RECORDED)
def test_a_restarted_engine_contributes_its_whole_counters_and_nothing_negative(engine: str, name: str) -> None:
    reading = PageReader(DIALECTS[engine], "m").read(parse(pages.read(name)))
    higher = replace(
        reading,
        process_start=None,
        readings=tuple(replace(r, values=[2 * value + 1 for value in r.values]) for r in reading.readings),
    )
    state, _ = advance(None, higher)
    _, found = advance(state, replace(reading, process_start=None))
    for reading_, increments in zip(reading.readings, found, strict=True):
        whole: dict[tuple[str, Attributes], float] = {}
        for counter in reading_.shape.counters:
            key = (counter.signal, counter.attributes)
            whole[key] = whole.get(key, 0.0) + counter.scale * sum(reading_.values[p] for p in counter.places)
        assert all(amount >= 0 for amount in increments.counters.values())
        for key, amount in whole.items():
            assert increments.counters[key] >= amount - 1e-9


@pytest.mark.parametrize(("engine", "name"), RECORDED)
def test_ratios_stay_ratios(engine: str, name: str) -> None:
    reading = PageReader(DIALECTS[engine], "m").read(parse(pages.read(name)))
    for found in reading.readings:
        for (signal, _), value in found.gauges.items():
            if signal.endswith("_ratio") and value is not None:
                assert 0.0 <= value <= 1.0, signal


@pytest.mark.parametrize(("engine", "name"), RECORDED)
def test_half_a_page_gives_what_it_has_and_names_the_torn_line(engine: str, name: str) -> None:
    text = pages.read(name)
    cut = text[: len(text) * 2 // 3].rpartition(" ")[0]
    page = parse(cut)
    reader = PageReader(DIALECTS[engine], "m")
    assert reader.read(page).engine == engine
    assert len(page.layout.errors) <= 1


OTHER_NAMES = [
    (engine, alias)
    for engine, dialect in DIALECTS.items()
    for alias in range(1, max(len(rule.raw) for rule in dialect.rules))
]


@pytest.mark.parametrize(("engine", "alias"), OTHER_NAMES)
def test_every_other_name_of_a_signal_is_read_too(engine: str, alias: int) -> None:
    dialect = DIALECTS[engine]
    reading = PageReader(dialect, "m").read(parse(page_of(dialect, alias)))
    said = {signal for found in reading.readings for signal, _ in found.gauges}
    for found in reading.readings:
        said |= {counter.signal for counter in found.shape.counters}
        said |= {histogram.signal for histogram in found.shape.histograms}
    wanted = {rule.signal for rule in dialect.rules if rule.kind not in (INFO, VALUE) and not rule.unless}
    assert wanted - said == set()


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
class TestEveryDialect:
    def test_every_rule_finds_its_own_name(self, dialect: Dialect) -> None:
        reader = PageReader(dialect, "m")
        page = parse(page_of(dialect))
        reading = reader.read(page)
        said = {signal for found in reading.readings for signal, _ in found.gauges}
        for found in reading.readings:
            said |= {counter.signal for counter in found.shape.counters}
            said |= {histogram.signal for histogram in found.shape.histograms}
        wanted = {rule.signal for rule in dialect.rules if rule.kind not in (INFO, VALUE) and not rule.unless}
        assert wanted - said == set()
        assert reader.plan(page.layout).unknown == ()
        assert reader.plan(page.layout).missing == ()

    def test_every_signal_is_in_the_catalog_with_its_kind(self, dialect: Dialect) -> None:
        for rule in dialect.rules:
            view, _, column = rule.signal.partition(".")
            if view == GPU_SAMPLES.name:
                assert column in GPU_SAMPLES.column_names()
            elif rule.kind in KINDS:
                assert kind_of(rule.signal) == KINDS[rule.kind], rule.signal
            for name in (rule.sum_as, rule.count_as):
                assert name is None or kind_of(name) == COUNTER_SIGNAL

    def test_no_two_rules_write_the_same_gauge(self, dialect: Dialect) -> None:
        samples = [pages.read(name) for name in pages.names(dialect.engine)]
        for text in samples:
            for group in PageReader(dialect, "m").plan(parse(text).layout).groups:
                written = [gauge.name for gauge in group.gauges]
                assert len(written) == len(set(written))

    def test_it_reads_an_empty_engine_as_nothing(self, dialect: Dialect) -> None:
        reading = PageReader(dialect, "m").read(parse("# TYPE other gauge\nother 1\n"))
        assert all(not found.gauges and not found.values for found in reading.readings)

    def test_a_family_that_is_new_is_listed_and_so_is_all_that_is_missing(self, dialect: Dialect) -> None:
        name = dialect.prefixes[0] + "brand_new_thing"
        plan = PageReader(dialect, "m").plan(parse(f"# TYPE {name} gauge\n{name} 1\n").layout)
        leaves_out_the_rest = f"{dialect.prefixes[0]}*" in dialect.ignored or "master_*" in dialect.ignored
        assert plan.unknown == (() if leaves_out_the_rest else (name,))
        assert set(dialect.expected()) <= set(plan.missing)

    def test_its_paths_are_paths_and_none_is_forbidden(self, dialect: Dialect) -> None:
        assert all(path.startswith("/") for path in dialect.paths)
        assert not set(dialect.paths) & set(dialect.never_get)

    def test_it_finds_no_request_in_other_peoples_spans_and_lines(self, dialect: Dialect) -> None:
        assert dialect.halves([]) == []
        assert dialect.line({}) is None
        assert dialect.line({"message": "hello"}) is None

    def test_a_tested_dialect_has_a_recorded_page(self, dialect: Dialect) -> None:
        assert bool(pages.names(dialect.engine)) == dialect.tested

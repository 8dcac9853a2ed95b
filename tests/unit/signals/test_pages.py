"""The page parser reads what prometheus_client reads, names what it cannot read, and notices every change."""

from __future__ import annotations

from random import Random

import pytest

from signals.errors import PageError
from signals.pages import PageParser
from tests.support import fuzz, pages


def values(text: str) -> dict[str, float]:
    return {series.key: value for series, value in PageParser().parse(text).samples()}


@pytest.mark.parametrize("name", pages.names())
def test_every_recorded_page_reads_as_prometheus_client_reads_it(name: str) -> None:
    text = pages.read(name)
    parser = PageParser()
    theirs = fuzz.whole_page(text)
    assert theirs is not None
    assert fuzz.same_names(fuzz.ours(parser.parse(text)), theirs)
    assert fuzz.same_names(fuzz.ours(parser.parse(text)), theirs)


@pytest.mark.parametrize("seed", range(8))
def test_fuzzed_pages_read_as_prometheus_client_reads_their_lines(seed: int) -> None:
    random = Random(seed)
    texts = [pages.read(name) for name in ("vllm-0172", "dynamo-frontend-0070", "litellm-tenants", "epp")]
    for _ in range(40):
        clean = fuzz.excerpt(random.choice(texts), random, 12)
        text = fuzz.mutate(clean, random)
        parser = PageParser()
        try:
            parser.parse(clean)
            found = fuzz.ours(parser.parse(text))
        except PageError:
            found = []
        assert found == fuzz.oracle(text), text


def test_a_value_that_changes_is_read_on_the_fast_path() -> None:
    parser = PageParser()
    first = parser.parse('# TYPE a counter\na{x="1"} 1\nb 2\n')
    second = parser.parse('# TYPE a counter\na{x="1"} 3.5\nb NaN\n')
    assert second.layout is first.layout
    assert second.values[0] == 3.5
    assert second.values[1] != second.values[1]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("a 1\nb 2\n", "a 1\nb15\n", {"a": 1.0}),
        ("a 1\n", "a 1_000\n", {}),
        ("a 1\n", "a 1 1700000000000\n", {"a": 1.0}),
        ('a{x="1"} 1\n', 'a{x="1"}  2\n', {'a{x="1"}': 2.0}),
        ("a 1\nb 2\n", "b 2\na 1\n", {"a": 1.0, "b": 2.0}),
        ("a 1\nb 2\n", "a 1\n", {"a": 1.0}),
        ("a 1\n", "a 1\nc 4\n", {"a": 1.0, "c": 4.0}),
        ("# TYPE a gauge\na 1\n", "# TYPE a counter\na 1\n", {"a": 1.0}),
    ],
)
def test_a_layout_that_changed_is_never_read_as_the_old_one(
    before: str, after: str, expected: dict[str, float]
) -> None:
    parser = PageParser()
    parser.parse(before)
    try:
        page = parser.parse(after)
    except PageError:
        assert expected == {}
        return
    found = {series.name + str(dict(series.labels) or ""): value for series, value in page.samples()}
    assert found == {key.replace('{x="1"}', "{'x': '1'}"): value for key, value in expected.items()}


def test_a_type_that_changes_is_noticed() -> None:
    parser = PageParser()
    assert parser.parse("# TYPE a gauge\na 1\n").layout.series[0].kind == "gauge"
    assert parser.parse("# TYPE a counter\na 1\n").layout.series[0].kind == "counter"


def test_a_second_type_line_and_interleaved_families_are_no_error() -> None:
    text = '# TYPE a counter\na 1\n# TYPE b gauge\nb 2\n# TYPE a counter\na{x="y"} 3\nb{x="y"} 4\n'
    page = PageParser().parse(text)
    assert page.values == [1.0, 2.0, 3.0, 4.0]
    assert page.layout.errors == ()
    assert [series.kind for series in page.layout.series] == ["counter", "gauge", "counter", "gauge"]


@pytest.mark.parametrize("printed", ["1", "1.0", "1e0", "1.00", "+1"])
def test_an_edge_is_a_number_however_it_is_printed(printed: str) -> None:
    page = PageParser().parse(f'# TYPE h histogram\nh_bucket{{le="{printed}"}} 4\nh_bucket{{le="+Inf"}} 5\n')
    assert [series.le for series in page.layout.series] == [1.0, float("inf")]


def test_histogram_parts_belong_to_their_family() -> None:
    page = PageParser().parse('# TYPE h histogram\nh_bucket{le="+Inf"} 4\nh_sum 2\nh_count 4\nh_created 1\n')
    assert [series.family for series in page.layout.series] == ["h", "h", "h", "h_created"]


def test_a_histogram_whose_name_ends_in_total_stays_a_histogram() -> None:
    page = PageParser().parse('# TYPE t_total histogram\nt_total_bucket{le="+Inf"} 4\nt_total_sum 2\nt_total_count 4\n')
    assert {series.kind for series in page.layout.series} == {"histogram"}


def test_timestamps_and_exemplars_do_not_hide_the_value() -> None:
    text = 'a{x="1"} 5 1700000000000\nh_bucket{le="1"} 7 # {trace_id="abc"} 0.5 1700000000.1\nb 6 1700000000000\n'
    assert PageParser().parse(text).values == [5.0, 7.0, 6.0]


def test_escapes_in_label_values_are_undone() -> None:
    page = PageParser().parse('a{x="quote \\" slash \\\\ line \\n end"} 1\n')
    assert page.layout.series[0].labels["x"] == 'quote " slash \\ line \n end'


def test_a_broken_line_is_named_and_the_rest_is_read() -> None:
    page = PageParser().parse('a 1\nb{x="1 2\nc three\nd 4\n')
    assert page.values == [1.0, 4.0]
    assert [(error.line, error.series) for error in page.layout.errors] == [(2, 'b{x="1 2'), (3, "c three")]


def test_a_page_that_ends_in_the_middle_of_a_number_loses_only_that_line() -> None:
    page = PageParser().parse("a 1\nb 123")
    assert page.values == [1.0]
    assert page.layout.errors[0].line == 2
    assert "no newline" in page.layout.errors[0].why


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("\n \n", "empty"),
        ("<!DOCTYPE html>\n<html><body>Welcome 5</body></html>\n", "HTML"),
        ('{"iter": 5, "numActiveRequests": 3}', "JSON"),
        ("[]", "JSON"),
        ("Not Found", "no sample"),
    ],
)
def test_what_is_no_metrics_page_is_refused_with_its_reason(text: str, why: str) -> None:
    with pytest.raises(PageError, match=why):
        PageParser().parse(text)


def test_a_page_of_comments_alone_is_a_page_without_series() -> None:
    assert PageParser().parse("# HELP a b\n# TYPE a counter\n").values == []


def test_a_page_that_came_as_one_json_string_is_read() -> None:
    assert PageParser().parse('"# TYPE a gauge\\na 5\\n"').values == [5.0]


def test_limits_name_themselves() -> None:
    with pytest.raises(PageError, match="limit of 10"):
        PageParser(max_bytes=10).parse("a 1\n" * 5)
    with pytest.raises(PageError, match="3 series is over the limit of 2"):
        PageParser(max_series=2).parse("a 1\nb 2\nc 3\n")


def test_targets_with_the_same_page_share_its_layout() -> None:
    text = pages.read("vllm-0172")
    one, other = PageParser(), PageParser()
    assert one.parse(text).layout is other.parse(text).layout


def test_windows_line_ends_are_read() -> None:
    assert values("# TYPE a gauge\r\na 5\r\n") == {"a": 5.0}


def test_a_page_cut_inside_a_comment_is_told_and_its_samples_stay() -> None:
    page = PageParser().parse(
        "# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running 3\n# HELP vllm:spec_de"
    )
    assert page.values == [3.0]
    assert [error.line for error in page.layout.errors] == [3]
    whole = PageParser().parse("# TYPE x gauge\nx 3\n# EOF")
    assert not whole.layout.errors

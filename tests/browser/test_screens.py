"""Every page in a real chromium over a store of recordings: drawn, without a script error, nothing cut off."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("playwright")
pytest.importorskip("streamlit")

from tests.browser.chromium import PAGES, Watched, browser, chromium, dashboard
from tests.support.recordings import copy_of, session_store

pytestmark = [pytest.mark.browser, pytest.mark.skipif(chromium() is None, reason="no chromium on this machine")]
#: Elements of a metric whose text is wider than its box.
CUT = """() => [...document.querySelectorAll("[data-testid=stMetricLabel] p, [data-testid=stMetricValue] > div")]
    .filter(each => each.scrollWidth > each.clientWidth + 1).map(each => each.textContent)"""


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    folder = tmp_path_factory.mktemp("browser")
    with dashboard(copy_of(session_store(), folder), folder) as address, browser() as found:
        found.open(address)
        yield found


@pytest.mark.parametrize("title", PAGES)
def test_a_page_draws_without_an_error(title: str, watched: Watched) -> None:
    watched.turn_to(title)
    assert watched.page.locator("[data-testid=stException]").count() == 0
    assert watched.page.locator("[data-testid=stAlertContentError]").count() == 0
    assert watched.errors == []


@pytest.mark.parametrize("title", ["Overview", "Explain", "Scaling"])
def test_no_metric_is_cut_off(title: str, watched: Watched) -> None:
    watched.turn_to(title)
    assert watched.page.evaluate(CUT) == []


def test_charts_are_drawn(watched: Watched) -> None:
    watched.turn_to("Overview")
    assert watched.page.locator("[data-testid=stVegaLiteChart] canvas, [data-testid=stVegaLiteChart] svg").count() >= 5


def test_the_chosen_model_stands_in_the_address(watched: Watched) -> None:
    watched.turn_to("Overview")
    watched.page.locator("[data-testid=stSelectbox]", has_text="Model").locator("input").click()
    watched.page.get_by_role("option", name="tiny-llama").click()
    watched.settle()
    assert "model=tiny-llama" in watched.page.url


def test_a_query_answers_with_rows(watched: Watched) -> None:
    watched.turn_to("SQL")
    watched.page.get_by_role("button", name="Run").click()
    watched.settle()
    assert watched.page.locator("[data-testid=stDataFrame]").count() == 1

"""Every page over a real collector: full, empty and unreachable; never a traceback, always a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("streamlit")

import streamlit as st
from streamlit.testing.v1 import AppTest

from collector.store.store import Store
from tests.support.loopback import served
from tests.support.recordings import copy_of, session_store

SCREENS = Path(__file__).resolve().parents[3] / "dashboard" / "screens"
PAGES = ("overview", "explain", "scaling", "planners", "request", "instances", "sql")


def _page(name: str, **query: str) -> AppTest:
    page = AppTest.from_file(str(SCREENS / f"{name}.py"), default_timeout=30)
    page.query_params.update(query)
    return page.run()


def _words(page: AppTest) -> str:
    kinds = (page.info, page.error, page.warning, page.success, page.markdown, page.caption, page.subheader)
    return "\n".join(str(item.value) for kind in kinds for item in kind)


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(copy_of(session_store(), tmp_path_factory.mktemp("full"))) as url:
        yield url


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    path = tmp_path_factory.mktemp("empty") / "x.duckdb"
    Store.open(path).close()
    with served(path) as url:
        yield url


@pytest.fixture(autouse=True)
def _look_back(monkeypatch: pytest.MonkeyPatch) -> None:
    st.cache_data.clear()
    monkeypatch.setenv("SLOSCOPE_NOW", "newest")


@pytest.mark.parametrize("name", PAGES)
def test_a_page_without_a_collector_says_how_to_start_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOSCOPE_URL", "http://127.0.0.1:1")
    page = _page(name)
    assert not page.exception
    assert "No collector answers" in _words(page) and "sloscope serve" in _words(page)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_over_an_empty_store_says_so(name: str, empty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOSCOPE_URL", empty)
    page = _page(name)
    assert not page.exception and not page.error
    if name != "planners":
        assert "No data yet" in _words(page)


@pytest.mark.parametrize("name", ["overview", "explain", "instances", "sql"])
def test_a_page_over_the_recording_draws(name: str, full: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOSCOPE_URL", full)
    page = _page(name)
    assert not page.exception and not page.error
    assert "No data yet" not in _words(page)


def test_the_overview_leads_with_state_ratio_budget_and_burn(full: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOSCOPE_URL", full)
    page = _page("overview")
    assert [metric.label for metric in page.metric] == [
        "State", "Good, target 99.0 %", "Error budget left", "Burn rate, 1 h",
    ]  # fmt: skip
    assert page.metric[0].value == "spent"
    (table,) = (frame.value for frame in page.dataframe)
    assert list(table["scope"]) == ["tiny-llama"]
    assert str(table["P99 lies in"][0]).startswith("> ")


def test_a_link_reproduces_a_view(full: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOSCOPE_URL", full)
    page = _page("overview", model="tiny-llama", window="5m")
    assert {box.label: box.value for box in page.selectbox} == {
        "Model": "tiny-llama", "Tenant": "all", "Window": "5m",
    }  # fmt: skip


def test_one_request_shows_where_its_time_went(full: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOSCOPE_URL", full)
    page = _page("sql")
    page.text_area[0].set_value("select request_id from requests where ttft_seconds > 1 limit 1")
    page.button[0].click().run()
    found = str(page.dataframe[0].value["request_id"][0])
    page = _page("request", id=found)
    assert not page.exception and not page.error
    assert page.metric[0].label == "Status" and len(page.metric) == 5
    page = _page("request", id="no/such?id")
    assert "unknown request 'no/such?id'" in _words(page)


def test_a_query_that_is_refused_is_a_sentence(full: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOSCOPE_URL", full)
    page = _page("sql")
    page.text_area[0].set_value("drop table requests")
    page.button[0].click().run()
    assert not page.exception
    assert page.error[0].value == "only one SELECT is allowed"

"""What the documents say of the collector is what it does: settings, paths, kinds of errors, and every query runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

import signals.errors
from collector.config import reference
from collector.receivers.changes.form import KINDS
from signals.errors import SloscopeError
from tests.support.collector import running
from tests.support.scrapes import busy

DOCS = Path(__file__).parents[2] / "docs"
REST = (DOCS / "reference" / "rest.md").read_text(encoding="utf-8")
CONFIG = (DOCS / "reference" / "collector-config.md").read_text(encoding="utf-8")
HOW_TO = ("query-with-sql", "grafana", "send-otlp", "secure", "prometheus-remote-write")
QUERIES = [
    query.strip()
    for query in re.findall(
        r"```sql\n(.*?)```", (DOCS / "how-to" / "query-with-sql.md").read_text(encoding="utf-8"), re.DOTALL
    )
]


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    with running() as (found, parts):
        parts.writer.submit([busy(number) for number in range(3)]).result(60)
        yield found


def test_every_setting_is_documented_with_its_default() -> None:
    for key, kind, default, help_ in reference():
        shown = f"`{default}`" if default else "empty"
        assert f"| `{key}` | {kind} | {shown} | {help_} |" in CONFIG, key


def test_no_setting_is_documented_that_does_not_exist() -> None:
    assert set(re.findall(r"^\| `(\w+)` \|", CONFIG, re.MULTILINE)) == {key for key, *_ in reference()}


def test_every_path_is_documented(client: TestClient) -> None:
    for path, operations in client.get("/openapi.json").json()["paths"].items():
        for method in operations:
            assert f"{method.upper()} {path}" in REST, f"{method} {path}"


def test_no_path_is_documented_that_does_not_exist(client: TestClient) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    for method, path in re.findall(r"`(GET|POST|DELETE) (/[^`?]*)", REST):
        assert method.lower() in paths.get(path, {}), f"{method} {path}"


def test_every_kind_of_error_is_documented() -> None:
    kinds = {
        name.removesuffix("Error").lower()
        for name, found in vars(signals.errors).items()
        if isinstance(found, type) and issubclass(found, SloscopeError) and found is not SloscopeError
    }
    unserved = {"page", "unreachable"}  # of the agent and the commands
    for kind in kinds - unserved:
        assert f"`{kind}`" in REST, kind


def test_there_are_at_least_fifteen_queries() -> None:
    assert len(QUERIES) >= 15


@pytest.mark.parametrize("query", QUERIES, ids=[query.split("\n")[0][:40] for query in QUERIES])
def test_every_query_of_the_documents_runs(client: TestClient, query: str) -> None:
    answer = client.post("/api/v1/sql", content=query)
    assert answer.status_code == 200, answer.text


def test_the_query_of_the_grafana_panel_runs(client: TestClient) -> None:
    text = (DOCS / "how-to" / "grafana.md").read_text(encoding="utf-8")
    (query,) = re.findall(r"```sql\n(.*?)```", text, re.DOTALL)
    filled = query.replace("${__from:date:iso}", "2026-05-01T00:00:00Z").replace(
        "${__to:date:iso}", "2026-05-02T00:00:00Z"
    )
    assert client.post("/api/v1/sql", content=filled).status_code == 200


@pytest.mark.parametrize("name", HOW_TO)
def test_links_between_documents_lead_somewhere(name: str) -> None:
    page = DOCS / "how-to" / f"{name}.md"
    for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_kinds_of_changes_are_the_views() -> None:
    from signals.views.fleet import CHANGES

    (column,) = [column for column in CHANGES.columns if column.name == "kind"]
    assert all(kind in column.help for kind in KINDS)

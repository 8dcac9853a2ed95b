"""The reference pages are what the code says: every command, every flag, every view and column, none stale."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from collector.cli.main import COMMANDS
from collector.cli.place import FilePlace
from docs.generate import EVERYDAY, PAGES, REFERENCE
from signals.views import VIEWS
from tests.support.recordings import session_store

DOCS = Path(__file__).resolve().parents[2] / "docs"
CLI = (REFERENCE / "cli.md").read_text(encoding="utf-8")
SQL = (REFERENCE / "sql.md").read_text(encoding="utf-8")
QUERIES = [
    pytest.param(query.strip(), id=f"{page.stem}-{number}")
    for page in sorted((DOCS / "how-to").glob("*quer*.md"))
    for number, query in enumerate(re.findall(r"```sql\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL))
]


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_is_not_stale(name: str) -> None:
    written = (REFERENCE / name).read_text(encoding="utf-8")
    assert written == PAGES[name](), "run `python -m docs.generate`"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_documented(command: str) -> None:
    assert f"## sloscope {command}\n" in CLI


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_and_column_is_documented(view: str) -> None:
    section = SQL.split(f"## {view}\n")[1].split("\n## ")[0]
    for column in VIEWS[view].columns:
        assert (
            f"| `{column.name}` | {column.type.replace('MAP(VARCHAR,VARCHAR)', 'MAP(VARCHAR, VARCHAR)')} |" in section
        )


def test_every_everyday_view_says_what_it_answers() -> None:
    everyday = SQL.split("# Everyday views")[1].split("# Macros")[0]
    assert set(re.findall(r"^## (\w+)$", everyday, re.MULTILINE)) == set(EVERYDAY)


@pytest.mark.parametrize("view", [*VIEWS, *EVERYDAY])
def test_every_documented_view_can_be_asked(view: str) -> None:
    assert FilePlace(session_store(), None).sql(f"select * from {view}", 1)["columns"]


@pytest.mark.parametrize("query", QUERIES)
def test_every_query_of_the_guides_runs_on_the_recording(query: str) -> None:
    answer = FilePlace(session_store(), None).sql(query, 1_000)
    assert answer["columns"] and answer["truncated"] is False

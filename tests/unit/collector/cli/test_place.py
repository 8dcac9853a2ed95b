"""A store behind a server says the same as its file, through flags, note and errors alike."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from collector.cli.main import main
from collector.cli.place import FilePlace, UrlPlace, resolve, serving_url
from collector.security.tokens import entry, new_token
from signals.errors import ConfigError, SloscopeError
from tests.support.loopback import served
from tests.support.recordings import copy_of, session_store

MODEL = "tiny-llama"


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_of(session_store(), tmp_path_factory.mktemp("served"))


@pytest.fixture(scope="module")
def url(db: Path) -> Iterator[str]:
    with served(db) as address:
        yield address


QUESTIONS = {
    "status": {},
    "explain": {"model": MODEL},
    "scale": {},
    "cost": {},
    "inventory": {},
    "request": {"request_id": None},
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_file_and_server_give_the_same_answer(question: str, db: Path, url: str) -> None:
    given = dict(QUESTIONS[question])
    file = FilePlace(session_store(), None)
    if "request_id" in given:
        rows = file.sql("select request_id from requests where engine is not null order by ts", 1)["rows"]
        assert isinstance(rows, list)
        given["request_id"] = rows[0]["request_id"]
    through = resolve(db, None, None, None)
    assert isinstance(through, UrlPlace)
    assert through.answer(question, given) == file.answer(question, given)


def test_the_commands_go_through_the_server_that_has_the_file_open(
    db: Path, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    query = "select count(*) as n, max(ts) as ts from requests"
    shown = []
    for place in (["--db", str(db)], ["--url", url], ["--db", str(session_store())]):
        assert main(["sql", *place, "-o", "json", query]) == 0
        shown.append(json.loads(capsys.readouterr().out))
    assert shown[0] == shown[1] == shown[2]
    assert main(["explain", "--db", str(db), "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["model"] == MODEL


@pytest.mark.parametrize(
    "argv",
    [
        ["explain", "--model", "tiny-lama"],
        ["request", "what/is this?"],
        ["sql", "select * from stored.requests"],
        ["sql", "selec 1"],
        ["plan", "autoscalling"],
        ["scale", "--pool", "nowhere"],
        ["compare", "a", "b", "--by", "instance"],
        ["forecast", "--model", MODEL, "--timezone", "Mars/Base"],
    ],
    ids=" ".join,
)
def test_a_refusal_reads_and_ends_the_same_through_a_server(
    argv: list[str], db: Path, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    through = main([*argv, "--db", str(db)]), capsys.readouterr().err
    direct = main([*argv, "--db", str(session_store())]), capsys.readouterr().err
    assert through == direct
    assert through[0] in {1, 2}


def test_with_a_url_the_clock_is_now(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["status", "--url", url, "-o", "json"])
    assert {row["burn_rate"]["5m"] for row in json.loads(capsys.readouterr().out)["objectives"]} <= {None}
    main(["status", "--db", str(session_store()), "-o", "json"])
    assert {row["burn_rate"]["5m"] for row in json.loads(capsys.readouterr().out)["objectives"]} != {None}


def test_objectives_of_the_environment_are_the_servers_business(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SLOSCOPE_OBJECTIVES", str(tmp_path))
    assert main(["status", "--url", url]) in {0, 3}
    assert main(["status", "--url", url, "--objectives", str(tmp_path)]) == 2
    assert "serve --objectives" in capsys.readouterr().err


def test_nobody_there_is_unreachable(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "--url", "http://127.0.0.1:1"]) == 4
    assert "http://127.0.0.1:1 does not answer" in capsys.readouterr().err


def test_a_note_of_a_server_that_is_gone_does_not_matter(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = copy_of(session_store(), tmp_path)
    copy.with_name("copy.duckdb.serving").write_text("http://127.0.0.1:1\n")
    assert serving_url(copy) is None
    assert main(["sql", "--db", str(copy), "select 1 as a"]) == 0


def test_a_token_comes_from_a_file_and_only_from_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = copy_of(session_store(), tmp_path)
    secret, tokens, mine = new_token(), tmp_path / "tokens.yaml", tmp_path / "token"
    tokens.write_text("tokens:\n" + entry("me", secret, ("read",)))
    mine.write_text(secret + "\n")
    with served(copy, tokens=str(tokens)) as url:
        assert main(["status", "--url", url]) == 1
        assert main(["status", "--url", url, "--token-file", str(mine)]) in {0, 3}
        assert main(["explain", "--url", url, "--token-file", str(mine), "--now", "2026-01-01T00:00:00Z"]) in {0, 1}
        capsys.readouterr()
        assert main(["sql", "--url", url, "--token-file", str(mine), "select 1"]) == 1
        assert "sql" in capsys.readouterr().err


@pytest.mark.parametrize("content", [None, ""])
def test_a_token_file_that_holds_nothing_is_a_usage_error(
    content: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "token"
    if content is not None:
        path.write_text(content)
    assert main(["status", "--url", "http://127.0.0.1:1", "--token-file", str(path)]) == 2
    assert str(path) in capsys.readouterr().err


class _Stranger(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b"<html>hello</html>"
        self.send_response(500 if "inventory" in self.path else 200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class's own name
        """Say nothing."""


def test_a_server_that_is_no_collector_is_told_apart() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Stranger)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        place = UrlPlace(f"http://127.0.0.1:{server.server_address[1]}", None, None)
        with pytest.raises(SloscopeError, match="is it a sloscope collector"):
            place.answer("status", {})
        with pytest.raises(SloscopeError, match="answered 500"):
            place.answer("inventory", {})
        with pytest.raises(ConfigError, match="use --db"):
            place.answer("backtest", {})
    finally:
        server.shutdown()
        server.server_close()

"""Where an answer comes from: a store file or a running collector; both give the same JSON."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Protocol
from urllib.parse import quote, urlencode

import httpx
import pyarrow as pa

from collector.api.questions import QUESTIONS
from collector.cli.options import given_by_environment
from collector.sqlguard.formats import plain, to_json
from collector.store.open import open_readonly
from collector.store.reader import DuckReader
from signals.errors import ConfigError, NotEnoughDataError, SloscopeError, StoreError, UnreachableError

DEFAULT_URL = "http://127.0.0.1:4320"
#: Question → path of the REST surface; a `{}` takes the first parameter.
PATHS = {
    "status": "/api/v1/status",
    "explain": "/api/v1/explain",
    "forecast": "/api/v1/forecast",
    "scale": "/api/v1/recommendations",
    "compare": "/api/v1/compare",
    "cost": "/api/v1/cost",
    "inventory": "/api/v1/inventory",
}
#: Answers that the server does not serve under questions.QUESTIONS names.
ANSWERS = {**QUESTIONS, "backtest": "forecast:backtest", "cost": "cost:cost"}


class Place(Protocol):
    """Answers questions with plain JSON values."""

    def answer(self, question: str, parameters: Mapping[str, object]) -> dict[str, object]: ...

    def sql(self, query: str, max_rows: int | None) -> dict[str, object]: ...


class FilePlace:
    """A store file that no server has open; it is opened read-only."""

    def __init__(self, path: Path, now: datetime | None) -> None:
        if not path.is_file():
            raise StoreError(f"{path}: no such store; `sloscope import --db {path} ...` makes one")
        self._path = path
        self._now = now

    def answer(self, question: str, parameters: Mapping[str, object]) -> dict[str, object]:
        module, _, name = ANSWERS[question].partition(":")
        function = getattr(importlib.import_module(f"collector.answers.{module}"), name)
        with open_readonly(self._path) as connection:
            reader = DuckReader(connection)
            now = self._now or reader.newest()
            if now is None:
                raise NotEnoughDataError(f"{self._path} holds no request and no sample yet")
            given = {key: value for key, value in parameters.items() if value is not None}
            answer: dict[str, object] = function(reader, now, **given)
        return {key: plain(value) for key, value in answer.items()}

    def sql(self, query: str, max_rows: int | None) -> dict[str, object]:
        from collector.sqlguard.runner import QueryRunner

        with open_readonly(self._path, guarded=True) as connection:
            result = QueryRunner(connection.cursor).run(query, "cli", max_rows)
            found: dict[str, object] = json.loads(to_json(result))
        return found


class UrlPlace:
    """A running collector. `now` as text: RFC 3339, `newest`, or None for the clock."""

    def __init__(self, url: str, token: str | None, now: str | None) -> None:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        self._client = httpx.Client(base_url=url.rstrip("/"), headers=headers, timeout=120.0)
        self._url = url
        self._now = now

    def answer(self, question: str, parameters: Mapping[str, object]) -> dict[str, object]:
        query = {key: _word(value) for key, value in parameters.items() if value is not None}
        path = PATHS.get(question)
        if question == "request":
            path = f"/api/v1/requests/{quote(query.pop('request_id'), safe='')}"
        if path is None:
            raise ConfigError(f"{question} is answered from a store file only: use --db")
        if self._now is not None:
            query["now"] = self._now
        return self.call("GET", path, params=query)

    def plan(self, name: str, settings: Mapping[str, str], model: str | None) -> dict[str, object]:
        """Return one plan; each setting is a parameter of its own."""
        pairs = [("set", f"{key}={value}") for key, value in settings.items()]
        pairs += [(key, value) for key, value in (("model", model), ("now", self._now)) if value]
        return self.call("GET", f"/api/v1/plans/{quote(name, safe='')}?{urlencode(pairs)}")

    def sql(self, query: str, max_rows: int | None) -> dict[str, object]:
        body: dict[str, object] = {"query": query}
        if max_rows is not None:
            body["max_rows"] = max_rows
        return self.call("POST", "/api/v1/sql", json=body)

    def call(
        self,
        method: str,
        path: str,
        params: Mapping[str, str] | None = None,
        json: object | None = None,
        content: IO[bytes] | None = None,
    ) -> dict[str, object]:
        """Return the JSON object of one call. UnreachableError when nobody answers, SloscopeError for a refusal."""
        try:
            answer = self._client.request(method, path, params=params, json=json, content=content)
        except httpx.HTTPError as error:
            raise UnreachableError(f"{self._url} does not answer: {error}") from error
        if answer.status_code >= 400:
            raise _refusal(answer)
        try:
            found = answer.json()
        except ValueError as error:
            raise SloscopeError(f"{self._url}{path} answers no JSON: is it a sloscope collector?") from error
        return found if isinstance(found, dict) else {"items": found}

    def arrow(self, path: str, params: Mapping[str, object]) -> pa.Table:
        """Return the table of one call that answers an Arrow stream; raises as `call` does."""
        query = {key: _word(value) for key, value in params.items() if value is not None}
        try:
            answer = self._client.get(path, params=query)
        except httpx.HTTPError as error:
            raise UnreachableError(f"{self._url} does not answer: {error}") from error
        if answer.status_code >= 400:
            raise _refusal(answer)
        try:
            with pa.ipc.open_stream(answer.content) as stream:
                table: pa.Table = stream.read_all()
        except pa.ArrowInvalid as error:
            raise SloscopeError(f"{self._url}{path} answers no Arrow: is it a sloscope collector?") from error
        return table


def resolve(db: Path | None, url: str | None, token_file: Path | None, now: datetime | None) -> Place:
    """Return the place that the options name; a store that a server owns is asked through that server."""
    token = token_of(token_file)
    db, url = one_place(db, url)
    if db is not None:
        serving = serving_url(db)
        if serving is None:
            return FilePlace(db, now)
        return UrlPlace(serving, token, now.astimezone(UTC).isoformat() if now else "newest")
    return UrlPlace(url or DEFAULT_URL, token, now.astimezone(UTC).isoformat() if now else None)


def one_place(db: Path | None, url: str | None) -> tuple[Path | None, str | None]:
    """Return the file or the URL, not both: a flag beats a twin in the environment; ConfigError for two flags."""
    if db is None or url is None:
        return db, url
    by_environment = given_by_environment("db"), given_by_environment("url")
    if by_environment == (True, False):
        return None, url
    if by_environment == (False, True):
        return db, None
    raise ConfigError("--db and --url exclude each other: one store answers")


def token_of(token_file: Path | None) -> str | None:
    """Return the bearer token that a file holds; ConfigError when it cannot be read or holds none."""
    if token_file is None:
        return None
    try:
        token = token_file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"--token-file {token_file}: cannot be read: {error}") from error
    if not token:
        raise ConfigError(f"--token-file {token_file}: holds no token")
    return token


def serving_url(db: Path) -> str | None:
    """Return the URL of the server that owns `db`, as written in FILE.serving, if it answers."""
    note = db.with_name(db.name + ".serving")
    try:
        text = note.read_text(encoding="utf-8").strip()
    except OSError:
        return None
    try:
        url = str(json.loads(text)["url"]) if text.startswith("{") else text.split()[0]
        httpx.get(f"{url}/healthz", timeout=2.0)
    except (ValueError, KeyError, IndexError, httpx.HTTPError):
        return None
    return url


def _word(value: object) -> str:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    return str(value)


def _refusal(answer: httpx.Response) -> SloscopeError:
    """Return the error that the server raised, in its own words and with its own exit code."""
    try:
        problem = answer.json()
        detail, kind = str(problem["detail"]), str(problem["type"]).rpartition(":")[2]
    except (ValueError, KeyError, TypeError):
        return SloscopeError(f"{answer.url} answered {answer.status_code}: {answer.text[:300]}")
    error = SloscopeError(detail)
    error.exit_code = _exit_codes().get(kind, SloscopeError.exit_code)
    return error


def _exit_codes() -> dict[str, int]:
    """Return the exit code of every kind of problem: the error tree's own, and 2 for an unusable parameter."""
    codes = {"parameter": 2}
    classes = [SloscopeError]
    for found in classes:
        codes[found.__name__.removesuffix("Error").lower()] = found.exit_code
        classes.extend(found.__subclasses__())
    return codes

"""Asks the collector over HTTP; caches answers for a few seconds, never computes one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

import httpx
import streamlit as st

from signals.errors import PermissionDeniedError, SloscopeError, UnreachableError

DEFAULT_URL = "http://127.0.0.1:4320"
CACHE_SECONDS = 4
TIMEOUT_SECONDS = 60.0
#: Names a fixed moment (RFC 3339 or `newest`) to look back at a store instead of at the clock.
NOW_VARIABLE = "SLOSCOPE_NOW"
Answer = dict[str, object]


class Client:
    """The REST surface as methods. Errors are SloscopeErrors whose text a person can read."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self.url = url.rstrip("/")
        self._token = token

    def status(self) -> Answer:
        return self._get("/api/v1/status")

    def explain(self, model: str, metric: str, given: Mapping[str, str]) -> Answer:
        return self._get("/api/v1/explain", {"model": model, "metric": metric, **given})

    def forecast(self, model: str, signal: str, horizon: str, tenant: str | None = None) -> Answer:
        given = {"model": model, "signal": signal, "horizon": horizon}
        return self._get("/api/v1/forecast", given | ({"tenant": tenant} if tenant else {}))

    def recommendations(self) -> Answer:
        return self._get("/api/v1/recommendations")

    def incidents(self) -> Answer:
        return self._get("/api/v1/incidents")

    def timeline(self, given: Mapping[str, str]) -> Answer:
        return self._get("/api/v1/timeline", given)

    def inventory(self) -> Answer:
        return self._get("/api/v1/inventory")

    def request(self, request_id: str) -> Answer:
        return self._get(f"/api/v1/requests/{quote(request_id, safe='')}")

    def plan(self, name: str, settings: Mapping[str, object]) -> Answer:
        given = tuple(("set", f"{key}={value}") for key, value in sorted(settings.items()))
        return _cached(self.url, self._token, f"/api/v1/plans/{name}", given)

    def sql(self, query: str, max_rows: int) -> Answer:
        return self._call("POST", "/api/v1/sql", json={"query": query, "max_rows": max_rows})

    def _get(self, path: str, params: Mapping[str, str] | None = None) -> Answer:
        given = {**(params or {}), "now": os.environ.get(NOW_VARIABLE, "")}
        kept = tuple(sorted((name, str(value)) for name, value in given.items() if value))
        return _cached(self.url, self._token, path, kept)

    def _call(self, method: str, path: str, json: object | None = None) -> Answer:
        return call(self.url, self._token, method, path, (), json)


@st.cache_data(ttl=CACHE_SECONDS, show_spinner=False, max_entries=500)
def _cached(url: str, token: str | None, path: str, params: tuple[tuple[str, str], ...]) -> Answer:
    return call(url, token, "GET", path, params, None)


def call(
    url: str, token: str | None, method: str, path: str, params: tuple[tuple[str, str], ...], json: object | None
) -> Answer:
    """Return the JSON object of one call; UnreachableError or SloscopeError with the problem's own words."""
    headers = {"authorization": f"Bearer {token}"} if token else {}
    try:
        answer = httpx.request(
            method, f"{url}{path}", params=list(params), json=json, headers=headers, timeout=TIMEOUT_SECONDS
        )
    except httpx.HTTPError as error:
        raise UnreachableError(f"the collector at {url} does not answer: {error}") from error
    if answer.status_code in {401, 403}:
        raise PermissionDeniedError(_problem(answer))
    if answer.status_code >= 400:
        raise SloscopeError(_problem(answer))
    try:
        found = answer.json()
    except ValueError as error:
        raise UnreachableError(f"{url} answers no JSON: it is no sloscope collector") from error
    return found if isinstance(found, dict) else {"items": found}


def client() -> Client:
    """Return the client that the environment names (SLOSCOPE_URL, SLOSCOPE_TOKEN_FILE)."""
    token_file = os.environ.get("SLOSCOPE_TOKEN_FILE")
    token = Path(token_file).read_text(encoding="utf-8").strip() if token_file else None
    return Client(os.environ.get("SLOSCOPE_URL", DEFAULT_URL), token)


def _problem(answer: httpx.Response) -> str:
    try:
        problem = answer.json()
        return str(problem.get("detail") or problem.get("title") or answer.text[:300])
    except ValueError:
        return f"{answer.status_code}: {answer.text[:300]}"

"""Every failing endpoint answers in one shape: application/problem+json with the same six members, and no secret.

type (urn:sloscope:problem:KIND), title, status (the HTTP status), detail, instance (the path), errors (a list).
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import duckdb
import httpx
import pytest
from fastapi.testclient import TestClient

from collector.config import CollectorConfig
from collector.security.tokens import entry, new_token
from collector.store.reader import DuckReader
from tests.support.collector import JSON, PROTOBUF, running

MEMBERS = {"type", "title", "status", "detail", "instance", "errors"}
BOMB = gzip.compress(bytes(3_000_000))

#: What fails: method, path, headers, body, expected status.
FAILURES: dict[str, tuple[str, str, dict[str, str], bytes, int]] = {
    "an unknown path": ("GET", "/nope", {}, b"", 404),
    "a wrong method": ("PUT", "/v1/metrics", {}, b"", 405),
    "metrics that are no protobuf": ("POST", "/v1/metrics", PROTOBUF, b"\x0a\xff\xff", 400),
    "metrics of an unknown type": ("POST", "/v1/metrics", {"content-type": "text/plain"}, b"x", 415),
    "metrics in an unknown encoding": ("POST", "/v1/metrics", {**PROTOBUF, "content-encoding": "br"}, b"x", 415),
    "metrics that are damaged gzip": ("POST", "/v1/metrics", {**PROTOBUF, "content-encoding": "gzip"}, b"x", 400),
    "a gzip bomb": ("POST", "/v1/metrics", {**PROTOBUF, "content-encoding": "gzip"}, BOMB, 413),
    "a body over the limit": ("POST", "/v1/traces", PROTOBUF, bytes(1_100_000), 413),
    "traces that are no protobuf": ("POST", "/v1/traces", PROTOBUF, b"\xff\xff", 400),
    "traces that are no JSON": ("POST", "/v1/traces", JSON, b"{", 400),
    "logs that are no JSON": ("POST", "/v1/logs", JSON, b"3", 400),
    "remote-write that is no snappy": ("POST", "/api/v1/write", PROTOBUF, b"\xff\xff\xff\xff\xff\xff", 400),
    "remote-write 2.0": ("POST", "/api/v1/write", {"x-prometheus-remote-write-version": "2.0.0"}, b"x", 415),
    "a change that is no JSON": ("POST", "/api/v1/changes", JSON, b"{", 400),
    "a change of no known shape": ("POST", "/api/v1/changes", JSON, b"{}", 422),
    "an import without a name": ("POST", "/api/v1/import", {}, b"a,b\n1,2\n", 422),
    "an import without a body": ("POST", "/api/v1/import?name=x.csv", {}, b"", 400),
    "an import with a path": ("POST", "/api/v1/import?name=..%2F..%2F.x", {}, b"abc", 422),
    "SQL that is no SELECT": ("POST", "/api/v1/sql", {}, b"drop table requests", 422),
    "SQL that is no UTF-8": ("POST", "/api/v1/sql", {}, b"\xff\xfe", 400),
    "SQL without a query": ("POST", "/api/v1/sql", JSON, b"{}", 400),
    "SQL with a wrong parameter": ("POST", "/api/v1/sql?max_rows=0", {}, b"select 1", 422),
    "SQL in an unknown format": ("POST", "/api/v1/sql?format=xml", {}, b"select 1", 404),
    "SQL in the URL that is missing": ("GET", "/api/v1/sql", {}, b"", 422),
    "a forecast without a model": ("GET", "/api/v1/forecast", {}, b"", 422),
    "a forecast of an unknown model": ("GET", "/api/v1/forecast?model=x", {}, b"", 404),
    "a forecast with a bad horizon": ("GET", "/api/v1/forecast?model=x&horizon=soon", {}, b"", 422),
    "an explanation at no time": ("GET", "/api/v1/explain?model=x&at=noon", {}, b"", 422),
    "a status at no time": ("GET", "/api/v1/status?now=noon", {}, b"", 422),
    "an unknown request": ("GET", "/api/v1/requests/x", {}, b"", 404),
    "an unknown part of a replay": ("GET", "/api/v1/replay/everything", {}, b"", 404),
    "a replay since no time": ("GET", "/api/v1/replay/requests?since=noon", {}, b"", 422),
    "a latency by no dimension": ("GET", "/api/v1/latency?by=colour", {}, b"", 404),
    "a latency of no metric": ("GET", "/api/v1/latency?metric=x", {}, b"", 404),
    "a latency at no level": ("GET", "/api/v1/latency?step=7m", {}, b"", 422),
    "a latency's quantile above 1": ("GET", "/api/v1/latency?q=99", {}, b"", 422),
    "a latency that ends before it begins": (
        "GET",
        "/api/v1/latency?from=2026-05-02T00:00:00Z&to=2026-05-01T00:00:00Z",
        {},
        b"",
        422,
    ),
    "an unknown planner": ("GET", "/api/v1/plans/x", {}, b"", 404),
    "a plan with a bad input": ("GET", "/api/v1/plans/autoscaling?set=x", {}, b"", 422),
    "KEDA before any pool is seen": ("GET", "/api/v1/scaling/keda?pool=x", {}, b"", 503),
    "KEDA without a pool": ("GET", "/api/v1/scaling/keda", {}, b"", 422),
    "an unknown external metric": ("GET", "/apis/external.metrics.k8s.io/v1beta1/namespaces/d/x", {}, b"", 404),
    "a pin that is no JSON": ("POST", "/api/v1/scaling/pin", JSON, b"{", 400),
    "a pin without a pool": ("POST", "/api/v1/scaling/pin", JSON, b"{}", 400),
    "a pin that is not there": ("DELETE", "/api/v1/scaling/pin?pool=x", {}, b"", 404),
    "a freeze that is no boolean": ("POST", "/api/v1/scaling/freeze", JSON, b'{"frozen": 3}', 400),
    "a verdict on an unknown incident": ("POST", "/api/v1/incidents/x/verdict", JSON, b'{"verdict": "right"}', 404),
    "an unknown verdict": ("POST", "/api/v1/incidents/x/verdict", JSON, b'{"verdict": "maybe"}', 404),
    "a backup to a relative path": ("POST", "/api/v1/backup", JSON, b'{"target": "x"}', 422),
}


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    config = CollectorConfig(
        db=":memory:", linger_seconds=0.0, max_body_bytes=1_000_000, max_decoded_bytes=2_000_000, requests_per_second=0
    )
    with running(config=config) as (found, _):
        yield found


def assert_problem(answer: httpx.Response, status: int) -> None:
    """The one helper that states the shape."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    content = answer.json()
    assert set(content) == MEMBERS
    assert content["status"] == status
    assert content["type"].startswith("urn:sloscope:problem:")
    assert content["title"]
    assert content["detail"]
    assert content["instance"] == answer.request.url.path
    assert isinstance(content["errors"], list)
    assert "Traceback" not in answer.text


@pytest.mark.parametrize("case", FAILURES)
def test_a_failure_is_a_problem(client: TestClient, case: str) -> None:
    method, path, headers, body, status = FAILURES[case]
    assert_problem(client.request(method, path, headers=headers, content=body), status)


def test_every_documented_path_fails_here_or_needs_nothing(client: TestClient) -> None:
    """A new endpoint must say how it fails."""
    cannot_fail = {"/healthz", "/readyz", "/metrics", "/apis/external.metrics.k8s.io/v1beta1"}
    lists = {
        "/api/v1/instances", "/api/v1/incidents", "/api/v1/plans", "/api/v1/recommendations", "/api/v1/scaling",
        "/api/v1/cost", "/api/v1/timeline", "/api/v1/inventory", "/api/v1/compare",
    }  # fmt: skip
    tried = {path.partition("?")[0] for _, path, *_ in FAILURES.values()}
    for path in client.get("/openapi.json").json()["paths"]:
        prefix = path.partition("{")[0]
        assert path in cannot_fail | lists or any(one.startswith(prefix) for one in tried), path


def test_a_missing_token_and_a_missing_scope_are_problems_without_the_token(tmp_path: Path) -> None:
    token = new_token()
    file = tmp_path / "tokens.yaml"
    file.write_text("tokens:\n" + entry("reader", token, ("read",)))
    with running(tokens=file) as (client, _):
        missing = client.get("/api/v1/status")
        assert_problem(missing, 401)
        assert missing.headers["www-authenticate"].startswith("Bearer")
        refused = client.post("/api/v1/sql", content="select 1", headers={"authorization": f"Bearer {token}"})
        assert_problem(refused, 403)
        assert token not in refused.text


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/metrics"), ("POST", "/v1/traces"), ("POST", "/v1/logs"), ("POST", "/api/v1/write"),
        ("POST", "/api/v1/changes"), ("POST", "/api/v1/import"), ("POST", "/api/v1/sql"), ("GET", "/api/v1/sql?q=x"),
        ("GET", "/api/v1/status"), ("GET", "/api/v1/forecast?model=x"), ("GET", "/api/v1/explain?model=x"),
        ("GET", "/api/v1/recommendations"), ("GET", "/api/v1/requests/x"), ("GET", "/api/v1/instances"),
        ("GET", "/api/v1/incidents"), ("POST", "/api/v1/incidents/x/verdict"), ("GET", "/api/v1/plans"),
        ("GET", "/api/v1/plans/x"), ("GET", "/api/v1/scaling/keda?pool=x"), ("GET", "/api/v1/scaling"),
        ("POST", "/api/v1/scaling/pin"), ("DELETE", "/api/v1/scaling/pin?pool=x"), ("POST", "/api/v1/scaling/freeze"),
        ("POST", "/api/v1/backup"), ("GET", "/api/v1/cost"), ("GET", "/api/v1/replay/models"),
        ("GET", "/apis/external.metrics.k8s.io/v1beta1/namespaces/d/sloscope_desired_replicas"),
    ],
)  # fmt: skip
def test_nothing_but_health_answers_without_a_token(tmp_path: Path, method: str, path: str) -> None:
    file = tmp_path / "tokens.yaml"
    file.write_text("tokens:\n" + entry("reader", new_token(), ("read",)))
    with running(tokens=file) as (client, _):
        assert_problem(client.request(method, path), 401)


def test_a_database_that_gave_up_is_unavailable_and_no_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    def give_up(*_: object) -> None:
        raise duckdb.FatalException("the file /secret/x.duckdb has been invalidated")

    with running() as (client, _):
        monkeypatch.setattr(DuckReader, "run", give_up)
        answer = client.get("/api/v1/status")
        assert_problem(answer, 503)
        assert answer.headers["retry-after"] == "5" and "secret" not in answer.text


def test_too_many_requests_are_told_when_to_return() -> None:
    config = CollectorConfig(db=":memory:", requests_per_second=1.0, request_burst=2)
    with running(config=config) as (client, _):
        answers = [client.get("/api/v1/scaling") for _ in range(3)]
        assert_problem(answers[2], 429)
        assert int(answers[2].headers["retry-after"]) >= 1

"""What the HTTP side answers when all is well: health, SQL, scaling, records, OpenAPI."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from fastapi.testclient import TestClient

from collector.api.inputs import orders_of
from collector.api.services import Services
from tests.support.collector import NOW, running
from tests.support.scrapes import busy


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[TestClient, Services, Path]]:
    audit = tmp_path_factory.mktemp("audit") / "audit.jsonl"
    with running(audit=audit) as (client, parts):
        parts.writer.submit([busy(number, running=2.0) for number in range(45, 51)]).result(60)
        yield client, parts, audit


def test_health_needs_nothing(collector: tuple[TestClient, Services, Path]) -> None:
    assert collector[0].get("/healthz").json() == {"status": "ok"}


def test_readiness_names_its_checks(collector: tuple[TestClient, Services, Path]) -> None:
    content = collector[0].get("/readyz").json()
    assert content["status"] == "ready"
    assert {check["name"] for check in content["checks"]} >= {"store", "writer", "ingest", "disk", "security"}


def test_own_metrics_are_prometheus_text(collector: tuple[TestClient, Services, Path]) -> None:
    from prometheus_client.parser import text_string_to_metric_families

    answer = collector[0].get("/metrics")
    families = {family.name: family for family in text_string_to_metric_families(answer.text)}
    assert families["sloscope_collector_batches_stored"].samples[0].value == 6
    assert all(name.startswith("sloscope_collector_") for name in families)


def test_openapi_describes_every_path(collector: tuple[TestClient, Services, Path]) -> None:
    paths = collector[0].get("/openapi.json").json()["paths"]
    assert {"/v1/metrics", "/v1/traces", "/v1/logs", "/api/v1/write", "/api/v1/sql", "/api/v1/status"} <= set(paths)
    assert all(operation.get("summary") for path in paths.values() for operation in path.values())


@pytest.mark.parametrize("query", [{"content": "select count(*) as n from engine_samples"}])
def test_sql_is_answered_as_text_json_and_get(
    collector: tuple[TestClient, Services, Path], query: dict[str, str]
) -> None:
    client = collector[0]
    text = client.post("/api/v1/sql", content=query["content"])
    as_json = client.post("/api/v1/sql", json={"query": query["content"]})
    get = client.get("/api/v1/sql", params={"q": query["content"]})
    assert text.json() == as_json.json() == get.json() == {"columns": ["n"], "rows": [{"n": 6}], "truncated": False}


def test_sql_comes_as_arrow_and_csv(collector: tuple[TestClient, Services, Path]) -> None:
    client = collector[0]
    arrow = client.post("/api/v1/sql?format=arrow", content="select instance from engine_samples")
    with pa.ipc.open_stream(arrow.content) as stream:
        assert stream.read_all().num_rows == 6
    csv = client.post("/api/v1/sql", content="select 1 as one", headers={"accept": "text/csv"})
    assert csv.text == "one\r\n1\r\n"


def test_every_query_is_audited_with_its_outcome(collector: tuple[TestClient, Services, Path]) -> None:
    client, _, audit = collector
    client.post("/api/v1/sql", content="select 42 as audited")
    client.post("/api/v1/sql", content="drop table audited")
    lines = [json.loads(line) for line in audit.read_text().splitlines()]
    outcomes = {line["query"]: line["outcome"] for line in lines if line["action"] == "sql"}
    assert outcomes["select 42 as audited"] == "ok"
    assert outcomes["drop table audited"].startswith("QueryRefusedError")


def test_keda_is_told_a_number_when_the_pool_is_seen(collector: tuple[TestClient, Services, Path]) -> None:
    pool = collector[0].get("/api/v1/recommendations").json()["recommendations"][0]
    answer = collector[0].get("/api/v1/scaling/keda", params={"pool": pool["pool"]})
    assert answer.status_code == 200
    assert answer.json()["replicas"] == pool["proposed"] >= 1


def test_what_the_job_decided_is_what_everybody_is_told_until_an_operator_says_otherwise(
    collector: tuple[TestClient, Services, Path],
) -> None:
    client, parts, _ = collector
    (decision,) = client.get("/api/v1/recommendations").json()["recommendations"]
    now, pool = parts.clock(), decision["pool"]
    parts.decided.keep(now, orders_of(parts, now), {"recommendations": [{**decision, "proposed": 42}], "frozen": False})
    keda = "/api/v1/scaling/keda"
    assert client.get(keda, params={"pool": pool}).json()["replicas"] == 42
    assert client.get("/api/v1/recommendations", params={"pool": "nowhere"}).status_code == 404
    client.post("/api/v1/scaling/pin", json={"pool": pool, "instances": 7, "for": "2h"})
    assert client.get(keda, params={"pool": pool}).json()["replicas"] == 7
    client.request("DELETE", "/api/v1/scaling/pin", params={"pool": pool})


def test_keda_is_told_503_while_no_pool_has_been_seen_at_all() -> None:
    with running() as (client, _):
        answer = client.get("/api/v1/scaling/keda", params={"pool": "org/m"})
    assert answer.status_code == 503
    assert "replicas" not in answer.json()


def test_keda_is_told_503_and_no_number_when_the_pool_is_blind(collector: tuple[TestClient, Services, Path]) -> None:
    pool = collector[0].get("/api/v1/recommendations").json()["recommendations"][0]["pool"]
    later = "2026-12-01T00:00:00Z"
    answer = collector[0].get("/api/v1/scaling/keda", params={"pool": pool, "now": later})
    assert answer.status_code == 503
    assert "replicas" not in answer.json()


def test_kubernetes_gets_an_external_metric(collector: tuple[TestClient, Services, Path]) -> None:
    client = collector[0]
    group = "/apis/external.metrics.k8s.io/v1beta1"
    assert client.get(group).json()["resources"][0]["name"] == "sloscope_desired_replicas"
    pool = client.get("/api/v1/recommendations").json()["recommendations"][0]["pool"]
    path = f"{group}/namespaces/prod/sloscope_desired_replicas"
    content = client.get(path, params={"labelSelector": f"pool={pool}"}).json()
    assert content["kind"] == "ExternalMetricValueList"
    assert int(content["items"][0]["value"]) >= 1


def test_a_pin_holds_until_it_is_lifted_and_is_told_as_a_change(collector: tuple[TestClient, Services, Path]) -> None:
    client, parts, _ = collector
    pool = client.get("/api/v1/recommendations").json()["recommendations"][0]["pool"]
    board = client.post("/api/v1/scaling/pin", json={"pool": pool, "instances": 7, "for": "2h"}).json()
    assert board["pins"][pool]["instances"] == 7
    decision = client.get("/api/v1/recommendations", params={"pool": pool}).json()["recommendations"][0]
    assert (decision["action"], decision["proposed"]) == ("pinned", 7)
    assert client.request("DELETE", "/api/v1/scaling/pin", params={"pool": pool}).json()["pins"] == {}
    parts.writer.submit([busy(51)]).result(60)
    with parts.store.cursor() as cursor:
        found = cursor.execute("select summary from changes where kind = 'scale' order by ts").fetchall()
    assert any("pinned" in summary for (summary,) in found)


def test_a_freeze_is_shown(collector: tuple[TestClient, Services, Path]) -> None:
    client = collector[0]
    assert client.post("/api/v1/scaling/freeze", json={"frozen": True}).json()["frozen"] is True
    assert client.get("/api/v1/recommendations").json()["frozen"] is True
    assert client.post("/api/v1/scaling/freeze", json={"frozen": False}).json()["frozen"] is False


def test_instances_are_listed(collector: tuple[TestClient, Services, Path]) -> None:
    (item,) = collector[0].get("/api/v1/instances").json()["items"]
    assert (item["instance"], item["model"]) == ("a:1", "m")


def test_plans_are_listed_and_computed(collector: tuple[TestClient, Services, Path]) -> None:
    client = collector[0]
    names = {item["planner"] for item in client.get("/api/v1/plans").json()["items"]}
    assert "autoscaling" in names
    assert client.get("/api/v1/plans/autoscaling").json()["headline"]


def test_answers_take_now_as_a_parameter(collector: tuple[TestClient, Services, Path]) -> None:
    client = collector[0]
    for now in ("newest", NOW.isoformat()):
        assert client.get("/api/v1/status", params={"now": now}).status_code == 200


def test_a_forecast_tells_parts_and_the_reserve_over_the_cold_start(
    collector: tuple[TestClient, Services, Path],
) -> None:
    client, parts, _ = collector
    model = str(parts.store.reader().columns("forecast_models")["model"][0])
    asked = {"model": model, "now": "newest", "horizon": "1h"}
    plain = client.get("/api/v1/forecast", params=asked).json()
    told = client.get("/api/v1/forecast", params={**asked, "parts": 3, "cold_start": "3m"}).json()
    assert "parts" not in plain
    assert plain["reserve"]["horizon_seconds"] == 600
    assert told["parts"]
    assert told["reserve"]["horizon_seconds"] == 180


def test_a_latency_comes_in_the_format_that_is_asked_for(collector: tuple[TestClient, Services, Path]) -> None:
    client = collector[0]
    columns = ["ts", "model", "requests", "value"]
    assert client.get("/api/v1/latency?by=model").json()["columns"] == columns
    assert client.get("/api/v1/latency?by=model&format=csv").text.strip() == ",".join(columns)
    arrow = client.get("/api/v1/latency?by=model", headers={"accept": "application/vnd.apache.arrow.stream"})
    assert pa.ipc.open_stream(arrow.content).read_all().column_names == columns

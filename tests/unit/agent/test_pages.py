"""The agent's own server: health, metrics, canonical signals, limits; and the OTLP output."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality

from agent.config import OtlpOutput
from agent.fetch import Answer
from agent.health import Check, Health
from agent.httpserver import Request, Response, Server, inflate, serve
from agent.outputs import prometheus
from agent.outputs.otlp import OtlpExporter, encode
from agent.outputs.totals import Totals
from agent.schedule import Pace, Ticker, until_grid
from agent.selfmetrics import SelfMetrics
from signals.dialects.reader import PageReader
from signals.dialects.registry import get
from signals.errors import PayloadError, TooLargeError
from signals.pages import PageParser
from signals.readings import State, advance
from signals.records import GONE, OK, Identity, Scrape, Target
from tests.support import pages
from tests.unit.agent.support import START_NS, FakeClock, FakeWeb, some_scrape, unreachable


def totals_of(*names: str) -> Totals:
    """Return totals after one recorded page of each."""
    totals = Totals()
    for place, name in enumerate(names):
        page = PageParser().parse(pages.read(name))
        reading = PageReader(get(name.partition("-")[0])).read(page)
        _, increments = advance(State(), reading)
        totals.add(Scrape(Identity("", "", 0), Target(f"i{place}", reading.engine), START_NS, None, OK, increments))
    return totals


def test_increments_add_up_and_gauges_are_the_last() -> None:
    totals = Totals()
    scrape = some_scrape()
    for queue in (3.0, 5.0):
        found = replace(scrape.increments[0], gauges={("queue_depth", ()): queue})
        totals.add(replace(scrape, increments=(found,)))
    (account,) = totals.accounts()
    labels = (("model", "m"), ("role", "both"))
    assert account.gauges == {("queue_depth", labels): 5.0}
    assert account.counters[("prompt_tokens", labels)] == 24.0
    running = account.histograms[("ttft_seconds", labels, (0.1, 1.0))]
    assert (running.counts, running.count, running.sum) == ([2, 4, 6], 12, 19.0)
    totals.add(replace(scrape, state=GONE, increments=()))
    assert totals.accounts() == []


def test_the_page_of_signals_is_a_prometheus_page() -> None:
    totals = totals_of("vllm-0172", "litellm-0055")
    text = prometheus.page(totals.accounts()).decode()
    parsed = PageParser().parse(text)
    assert not parsed.layout.errors
    assert 'sloscope_prompt_tokens_total{instance="i0",engine="vllm",model="tiny-llama",role="both"}' in text
    assert "# TYPE sloscope_ttft_seconds histogram" in text


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_promtool_finds_nothing_wrong_with_our_pages() -> None:
    totals = totals_of("vllm-0172", "litellm-0055", "sglang-unified")
    metrics = SelfMetrics()
    metrics.up.labels("i").set(1)
    for page in (prometheus.page(totals.accounts()), metrics.page()):
        promtool = shutil.which("promtool")
        assert promtool is not None
        checked = subprocess.run([promtool, "check", "metrics"], input=page, capture_output=True, check=False)
        assert (checked.returncode, checked.stderr.decode()) == (0, "")


def test_other_backends_get_cumulative_sums_and_histograms() -> None:
    totals = Totals()
    totals.add(some_scrape())
    totals.add(replace(some_scrape(), time_ns=START_NS + 5))
    message = ExportMetricsServiceRequest()
    message.ParseFromString(encode(totals.accounts()))
    (part,) = message.resource_metrics
    names = {pair.key: pair.value.string_value for pair in part.resource.attributes}
    assert names["service.instance.id"] == "i"
    metrics = {metric.name: metric for metric in part.scope_metrics[0].metrics}
    cumulative = AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE
    tokens = metrics["sloscope.prompt_tokens"].sum
    assert (tokens.aggregation_temporality, tokens.is_monotonic, tokens.data_points[0].as_double) == (
        cumulative,
        True,
        24,
    )
    assert tokens.data_points[0].start_time_unix_nano == START_NS
    ttft = metrics["sloscope.ttft_seconds"].histogram
    assert list(ttft.data_points[0].bucket_counts) == [2, 4, 6]
    assert not ttft.data_points[0].HasField("min")


def test_an_export_that_fails_is_counted_and_the_next_one_makes_up_for_it() -> None:
    totals = Totals()
    outcomes: list[str] = []
    web = FakeWeb({"http://otlp/v1/metrics": [unreachable(), Answer(503, {}, b"", 0.0), Answer(200, {}, b"", 0.0)]})
    exporter = OtlpExporter(OtlpOutput("http://otlp/v1/metrics"), totals.accounts, outcomes.append, web)  # type: ignore[arg-type]
    exporter.export()
    totals.add(some_scrape())
    for _ in range(3):
        exporter.export()
    assert outcomes == ["failed", "failed", "ok"]


def a_health(**checks: bool) -> Health:
    found = [Check(name, good, "note", required=name != "collector") for name, good in checks.items()]
    totals = Totals()
    totals.add(some_scrape())
    return Health(SelfMetrics(), lambda: totals, lambda: True, lambda: found, lambda: None, lambda: {"a": 1})


def ask(health: Health, path: str, method: str = "GET") -> Response:
    return health.answer(Request(method, path, {}))


def test_readiness_lists_its_checks_and_only_required_ones_decide() -> None:
    assert ask(a_health(spool=True, collector=False), "/readyz").status == 200
    refused = ask(a_health(spool=False), "/readyz")
    assert refused.status == 503
    assert json.loads(refused.body)["checks"][0]["check"] == "spool"


def test_every_page_is_there() -> None:
    health = a_health()
    assert b"sloscope_agent_build_info" in ask(health, "/metrics").body
    assert b"sloscope_queue_depth" in ask(health, "/signals").body
    assert ask(health, "/healthz").body == b"ok\n"
    assert json.loads(ask(health, "/config").body) == {"a": 1}
    assert ask(health, "/").status == 404
    assert ask(health, "/metrics", "POST").status == 405
    health.alive = lambda: False
    assert ask(health, "/healthz").status == 503


@pytest.fixture
def server() -> Iterator[Server]:
    def answer(request: Request) -> Response:
        return Response(200, request.body or request.path.encode())

    found = serve(("127.0.0.1", 0), answer, 100, "test")
    yield found
    found.stop()


def post(server: Server, body: bytes, **headers: str) -> tuple[int, bytes]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(f"http://127.0.0.1:{server.port}/a%20b", body or None, named)
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def test_bodies_come_plain_or_compressed_but_never_too_large(server: Server) -> None:
    assert post(server, b"") == (200, b"/a b")
    assert post(server, b"hello") == (200, b"hello")
    assert post(server, gzip.compress(b"hello"), Content_Encoding="gzip") == (200, b"hello")
    assert post(server, b"x" * 101)[0] == 413
    assert post(server, gzip.compress(b"x" * 100_000), Content_Encoding="gzip")[0] == 413
    assert post(server, b"no gzip", Content_Encoding="gzip")[0] == 400
    assert post(server, b"x", Content_Encoding="br")[0] == 400


def test_a_chunked_body_is_put_together(server: Server) -> None:
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
    connection.request("POST", "/", iter([b"hel", b"lo"]), encode_chunked=True)
    assert connection.getresponse().read() == b"hello"
    connection.close()


def test_decompression_has_a_limit() -> None:
    assert inflate(gzip.compress(b"abc"), "gzip", 3) == b"abc"
    with pytest.raises(TooLargeError):
        inflate(gzip.compress(b"abcd"), "gzip", 3)
    with pytest.raises(PayloadError):
        inflate(b"", "zstd", 3)


def test_ticks_that_were_missed_are_skipped_and_counted_not_bunched() -> None:
    pace = Pace(1.0, 10.0)
    assert pace.after(10.2) == pytest.approx(0.8)
    assert pace.after(14.5) == pytest.approx(0.5)
    assert pace.missed == 3
    assert pace.next_at == 15.0


def test_all_threads_of_a_machine_tick_on_one_grid_whenever_they_began() -> None:
    for began in (0.0, 3.7, 101.2, 7_000_003.9):
        assert (began + until_grid(began, 5.0)) % 5.0 == pytest.approx(0.0, abs=1e-6)
        pace = Pace(5.0, began)
        pace.after(began + 0.1)
        assert pace.next_at % 5.0 == pytest.approx(0.0, abs=1e-6)
        assert 2.5 <= pace.next_at - began <= 7.5, "the first interval is neither empty nor missed"
        assert pace.missed == 0


def test_a_pace_stays_on_its_grid_however_long_it_runs() -> None:
    pace = Pace(0.1, 0.0)
    for tick in range(10_000):
        pace.after(tick * 0.1)
    assert pace.next_at == pytest.approx(1000.0, abs=1e-9)


def test_a_step_that_fails_is_counted_and_the_next_one_comes() -> None:
    clock, failures, steps = FakeClock(), [], []

    def step() -> None:
        steps.append(1)
        if len(steps) == 3:
            ticker.stop()
        raise ValueError("broken")

    ticker = Ticker("task", 0.0001, step, clock.monotonic, failures.append)
    ticker.start()
    assert ticker.join(5.0)
    assert failures == ["task"] * 3


def test_the_metrics_that_the_guide_names_are_there() -> None:
    guide = (Path(__file__).parents[3] / "docs" / "how-to" / "troubleshoot-agent.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1] for line in guide.splitlines() if line.startswith("| ")]
    named = {
        name for row in rows for name in re.findall(r"`([a-z_]+)(?:\{[^`]*)?`", row) if "_" in name or name == "gpus"
    }
    have = {family.name for family in SelfMetrics().registry.collect()}
    assert len(named) > 8
    for name in named:
        assert f"sloscope_agent_{name.removesuffix('_total')}" in have

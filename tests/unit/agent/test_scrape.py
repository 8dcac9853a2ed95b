"""One target: its increments, its failures, its restarts, and the page that must not be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.config import LimitsConfig, TargetConfig
from agent.encode import Encoder, seal
from agent.engines import find_page, page_url
from agent.fetch import Answer
from agent.loop import TargetLoop
from agent.scrape import Scraper
from agent.selfmetrics import SelfMetrics
from agent.sender import sender_of
from agent.spool import METRICS
from agent.tenants import cap_tenants
from agent.versions import ask_version
from collector.receivers.decode import decode_resource, parse_export
from signals.dialects.registry import get
from signals.errors import ConfigError, PageError, StoreError
from signals.readings import HistogramIncrement, Increments
from signals.records import FAILED, FROZEN, GONE, OK, HostRows, Scrape
from tests.unit.agent.support import FakeClock, FakeWeb, new_spool, unreachable

URL = "http://127.0.0.1:8000"
PAGE_URL = f"{URL}/metrics"


def vllm_page(tokens: int = 10, running: int = 0, started: float = 1.0) -> str:
    return (
        "# TYPE process_start_time_seconds gauge\n"
        f"process_start_time_seconds {started}\n"
        "# TYPE vllm:num_requests_running gauge\n"
        f'vllm:num_requests_running{{engine="0",model_name="m"}} {running}\n'
        "# TYPE vllm:prompt_tokens_total counter\n"
        f'vllm:prompt_tokens_total{{engine="0",model_name="m"}} {tokens}\n'
    )


def a_scraper(web: FakeWeb, clock: FakeClock | None = None, **settings: object) -> Scraper:
    config = TargetConfig(**{"url": PAGE_URL, "instance": "i", **settings})  # type: ignore[arg-type]
    return Scraper(config, LimitsConfig(), "host", web, (clock or FakeClock()).wall_ns)  # type: ignore[arg-type]


def tokens(scrape: Scrape) -> float | None:
    return scrape.increments[0].counters.get(("prompt_tokens", ()))


def test_the_first_page_contributes_nothing_and_the_second_what_happened_since() -> None:
    clock = FakeClock()
    scraper = a_scraper(FakeWeb({PAGE_URL: [vllm_page(10), vllm_page(25)]}), clock)
    first = scraper.scrape().scrape
    clock.seconds = 5.0
    second = scraper.scrape().scrape
    assert (first.state, tokens(first), first.start_ns) == (OK, None, None)
    assert (second.state, tokens(second), second.start_ns) == (OK, 15.0, first.time_ns)
    assert second.target.engine == "vllm"
    assert second.target.host == "host"
    assert scraper.models == ("m",)


def test_a_failed_scrape_names_the_groups_that_are_blind_and_loses_no_increment() -> None:
    clock = FakeClock()
    pages: list[object] = [vllm_page(10), unreachable(), "<html>502</html>", Answer(503, {}, b"", 0.0), vllm_page(30)]
    scraper = a_scraper(FakeWeb({PAGE_URL: pages}), clock, engine="vllm")
    scraper.scrape()
    for error in ("UnreachableError", "PageError", "UnreachableError"):
        clock.seconds += 5.0
        result = scraper.scrape()
        assert (result.scrape.state, result.scrape.last_groups) == (FAILED, (("m", "both"),))
        assert result.scrape.increments == ()
        assert result.scrape.error is not None
        assert result.scrape.error.startswith(error)
        assert result.memory is None
    clock.seconds += 5.0
    last = scraper.scrape().scrape
    assert tokens(last) == 20.0
    assert last.start_ns == clock.wall_ns() - 20_000_000_000


def test_an_engine_that_restarted_contributes_its_whole_counters() -> None:
    scraper = a_scraper(FakeWeb({PAGE_URL: [vllm_page(100), vllm_page(7, started=500.0)]}))
    scraper.scrape()
    result = scraper.scrape()
    assert tokens(result.scrape) == 7.0
    assert result.resets == 1


def test_gauges_of_a_dead_loop_are_frozen() -> None:
    scraper = a_scraper(FakeWeb({PAGE_URL: vllm_page(10, running=3)}))
    states = [scraper.scrape().scrape.state for _ in range(5)]
    assert states == [OK, OK, OK, FROZEN, FROZEN]


def test_a_body_over_the_limit_and_too_many_series_are_failures_of_that_target_alone() -> None:
    web = FakeWeb({PAGE_URL: vllm_page()})
    config = TargetConfig(PAGE_URL)
    scraper = Scraper(config, LimitsConfig(series=1), "h", web, FakeClock().wall_ns)  # type: ignore[arg-type]
    result = scraper.scrape()
    assert result.scrape.state == FAILED
    assert "limit of 1" in str(result.scrape.error)


def test_secrets_travel_in_headers_from_files(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("abc")
    (tmp_path / "headers").write_text("X-Api-Key: k\n\nbroken line\n")
    web = FakeWeb({PAGE_URL: vllm_page()})
    a_scraper(web, token_file=str(tmp_path / "token"), headers_file=str(tmp_path / "headers")).scrape()
    assert web.headers[0] == {"X-Api-Key": "k", "Authorization": "Bearer abc"}
    failed = a_scraper(web, token_file=str(tmp_path / "gone")).scrape()
    assert failed.scrape.state == FAILED


def test_a_server_without_a_path_is_asked_harmless_questions_first() -> None:
    web = FakeWeb({PAGE_URL: vllm_page(), f"{URL}/v1/models": '{"data": [{"owned_by": "vllm"}]}'})
    scraper = a_scraper(web, url=URL)
    assert scraper.scrape().scrape.state == OK
    assert web.asked[:2] == [f"{URL}/prometheus/metrics", f"{URL}/v1/models"]
    asked = len(web.asked)
    scraper.scrape()
    assert web.asked[asked:] == [PAGE_URL]


def test_an_engine_is_asked_for_its_version_once_in_each_life() -> None:
    version_url = f"{URL}/version"
    pages: list[object] = [vllm_page(1), vllm_page(2), vllm_page(1, started=900.0), vllm_page(2, started=900.0)]
    answers: list[object] = ['{"version": "0.32.0"}', '{"version": "0.33.0"}']
    web = FakeWeb({PAGE_URL: pages, version_url: answers})
    scraper = a_scraper(web, url=URL, engine="vllm")
    versions = [scraper.scrape().scrape.target.engine_version for _ in range(4)]
    assert versions == ["0.32.0", "0.32.0", "0.33.0", "0.33.0"]
    assert web.asked.count(version_url) == 2


def test_a_page_with_a_path_of_its_own_is_asked_for_nothing_else() -> None:
    web = FakeWeb({PAGE_URL: vllm_page()})
    scraper = a_scraper(web, engine="vllm")
    for _ in range(3):
        scraper.scrape()
    assert web.asked == [PAGE_URL] * 3


@pytest.mark.parametrize("answer", ["[]", "no json", '{"version": 5}', '{"version": ""}', Answer(404, {}, b"", 0.0)])
def test_an_engine_that_does_not_tell_its_version_has_none(answer: object) -> None:
    web = FakeWeb({f"{URL}/version": answer})
    assert ask_version("vllm", PAGE_URL, lambda url: web.get(url, {}, 1.0, 1)) is None
    assert ask_version("epp", PAGE_URL, lambda url: web.get(url, {}, 1.0, 1)) is None


def test_the_queue_of_tensorrt_llm_is_never_emptied() -> None:
    web = FakeWeb({f"{URL}/v1/models": '{"data": [{"owned_by": "tensorrt_llm"}]}', PAGE_URL: vllm_page()})
    with pytest.raises(PageError, match="trtllm"):
        find_page(URL, lambda url: web.get(url, {}, 1.0, 1))
    assert not [url for url in web.asked if url.rstrip("/").endswith(":8000/metrics")]
    with pytest.raises(ConfigError, match="takes data away"):
        page_url(PAGE_URL, get("trtllm"))
    assert page_url(PAGE_URL, get("trtllm"), allow_destructive=True) == PAGE_URL
    assert page_url(URL, get("trtllm")) == f"{URL}/prometheus/metrics"


def test_a_page_of_no_known_engine_asks_for_a_configured_one() -> None:
    scraper = a_scraper(FakeWeb({PAGE_URL: "# TYPE x gauge\nx 1\n"}))
    assert "set `engine`" in str(scraper.scrape().scrape.error)


def test_a_loop_writes_to_disk_before_anybody_hears_and_forgets_nothing_when_it_cannot(tmp_path: Path) -> None:
    clock = FakeClock()
    spool = new_spool(tmp_path, clock)
    heard: list[Scrape] = []
    web = FakeWeb({PAGE_URL: [vllm_page(10), vllm_page(20), vllm_page(50)]})
    loop = TargetLoop(a_scraper(web, clock), spool, Encoder(), SelfMetrics(), clock.monotonic, heard.append)
    loop.step()

    class Full:
        def put(self, *_words: object) -> None:
            raise StoreError("no room")

    loop.spool = Full()  # type: ignore[assignment]
    loop.step()
    loop.spool = spool
    loop.step()
    loop.farewell()
    stored = parse_export(seal(batch.batch for batch in spool.waiting(METRICS, 10**9)))
    found = [decode_resource(part) for part in stored.resource_metrics]
    assert [scrape.state for scrape in found if isinstance(scrape, Scrape)] == [OK, OK, GONE]
    assert [tokens(scrape) for scrape in heard[:2]] == [None, 40.0]
    assert spool.recall(loop.key) is not None


def test_a_scrape_that_is_overtaken_by_a_new_loop_leaves_no_trace(tmp_path: Path) -> None:
    clock = FakeClock()
    spool = new_spool(tmp_path, clock)
    heard: list[Scrape] = []
    loop = TargetLoop(
        a_scraper(FakeWeb({PAGE_URL: vllm_page(10)}), clock),
        spool,
        Encoder(),
        SelfMetrics(),
        clock.monotonic,
        heard.append,
    )
    loop.retire()
    loop.step()
    assert spool.empty
    assert heard == []


def test_the_next_life_of_the_agent_goes_on_where_this_one_stopped(tmp_path: Path) -> None:
    clock = FakeClock()
    heard: list[Scrape] = []
    for page in (vllm_page(10), vllm_page(17)):
        spool = new_spool(tmp_path, clock)
        loop = TargetLoop(
            a_scraper(FakeWeb({PAGE_URL: page}), clock), spool, Encoder(), SelfMetrics(), clock.monotonic, heard.append
        )
        loop.scraper.memory = spool.recall(loop.key)
        loop.step()
        spool.close()
    assert [tokens(scrape) for scrape in heard] == [None, 7.0]


def test_spans_of_a_target_are_stamped_with_what_its_page_said() -> None:
    scraper = a_scraper(FakeWeb({PAGE_URL: vllm_page()}), pool="chat", span_services=("svc",))
    assert sender_of(scraper).attributes == {"sloscope.instance": "i", "sloscope.pool": "chat"}
    scraper.scrape()
    sender = sender_of(scraper)
    assert sender.names == {"i", "svc"}
    assert sender.attributes["sloscope.model"] == "m"
    assert (sender.engine, sender.gateway) == ("vllm", False)


def test_tenants_beyond_the_limit_are_counted_together() -> None:
    def histogram(tenant: str) -> HistogramIncrement:
        return HistogramIncrement("h", (("tenant", tenant),), (1.0,), (1, 2), 3.0, 3)

    found = Increments(
        None,
        None,
        {("gateway_in_flight", ()): 1.0, ("g", (("tenant", "c"),)): 5.0},
        {("n", (("tenant", name),)): 1.0 for name in "abcd"},
        tuple(histogram(name) for name in "abcd"),
    )
    seen: set[str] = set()
    capped = cap_tenants(found, seen, 2)
    assert seen == {"a", "b"}
    assert capped.counters == {
        ("n", (("tenant", "a"),)): 1.0,
        ("n", (("tenant", "b"),)): 1.0,
        ("n", (("tenant", "other"),)): 2.0,
    }
    assert [(h.attributes[0][1], h.counts, h.count) for h in capped.histograms] == [
        ("a", (1, 2), 3),
        ("b", (1, 2), 3),
        ("other", (2, 4), 6),
    ]
    assert list(capped.gauges) == [("gateway_in_flight", ())]
    assert cap_tenants(found, set(), 10) is found


def test_a_dcgm_page_becomes_rows_of_gpus_beside_the_scrape(tmp_path: Path) -> None:
    clock = FakeClock()
    spool = new_spool(tmp_path, clock)
    page = 'DCGM_FI_PROF_SM_ACTIVE{gpu="3",UUID="GPU-abc",Hostname="node-1"} 0.5\n'
    scraper = a_scraper(FakeWeb({PAGE_URL: page}), clock, engine="dcgm")
    TargetLoop(scraper, spool, Encoder(), SelfMetrics(), clock.monotonic, lambda _: None).step()
    stored = parse_export(seal(batch.batch for batch in spool.waiting(METRICS, 10**9)))
    scrape, rows = (decode_resource(part) for part in stored.resource_metrics)
    assert isinstance(scrape, Scrape)
    assert all(not found.gauges for found in scrape.increments)
    assert isinstance(rows, HostRows)
    assert (rows.host, rows.rows["gpu_samples"][0]["gpu"], rows.rows["gpu_samples"][0]["sm_active_ratio"]) == (
        "node-1",
        "GPU-abc",
        0.5,
    )

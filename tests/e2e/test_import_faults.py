"""What cannot be read is said, counted and left out; everything beside it is stored."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import duckdb
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector.cli.main import main
from collector.demo.recording import unpack

pytestmark = pytest.mark.e2e
FIRST, COUNT = 40, 6
HOUR_NS = 3_600_000_000_000
Rows = list[tuple[object, ...]]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    for name in ("vllm-live", "vllm-behind-litellm-otlp", "litellm-otlp"):
        unpack(name, folder)
    return folder


@pytest.fixture
def recording(whole: Path, tmp_path: Path) -> Path:
    """A few pages of the burst."""
    target = tmp_path / "vllm"
    target.mkdir()
    index = [json.loads(line) for line in (whole / "vllm-live" / "index.jsonl").read_text().splitlines()]
    kept = [entry for entry in index if FIRST <= entry["n"] < FIRST + COUNT]
    for entry in kept:
        shutil.copy(whole / "vllm-live" / f"{entry['n']:04d}.txt", target)
    (target / "index.jsonl").write_text("\n".join(json.dumps(entry) for entry in kept) + "\n")
    return target


@pytest.fixture
def spans(whole: Path, tmp_path: Path) -> tuple[Path, Path]:
    """The bodies of an engine and of the gateway before it."""
    engine, gateway = tmp_path / "engine-otlp", tmp_path / "gateway-otlp"
    shutil.copytree(whole / "vllm-behind-litellm-otlp", engine)
    shutil.copytree(whole / "litellm-otlp", gateway)
    return engine, gateway


def _imported(tmp_path: Path, *paths: Path) -> tuple[int, Path]:
    db = tmp_path / "x.duckdb"
    return main(["import", "--db", str(db), *(str(path) for path in paths)]), db


def _ask(db: Path, query: str) -> Rows:
    with duckdb.connect(str(db), read_only=True) as connection:
        return connection.execute(query).fetchall()


STATES = "select scrape_state, count(*) from engine_samples group by all order by all"
QUALITY = "select kind, source, count from data_quality order by all"


def test_a_page_cut_short_is_stored_as_far_as_it_goes(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = recording / f"{FIRST + 2:04d}.txt"
    page.write_bytes(page.read_bytes()[:-40])
    code, db = _imported(tmp_path, recording)
    assert code == 0
    assert "1 pages are readable in part; page 2: 1 unreadable lines" in capsys.readouterr().err
    assert _ask(db, QUALITY) == [("scrape_ok", "vllm", 1)]
    assert _ask(db, "select count(*) from engine_samples where model is not null") == [(COUNT,)]


def test_a_page_of_html_is_one_failed_scrape(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (recording / f"{FIRST + 2:04d}.txt").write_text("<html><body>502 Bad Gateway</body></html>\n")
    code, db = _imported(tmp_path, recording)
    assert code == 0
    assert "1 pages are unusable; page 2" in capsys.readouterr().err
    assert _ask(db, QUALITY) == [("scrape_failed", "vllm", 1)]
    assert dict(_ask(db, STATES))["failed"] == 1


def test_an_engine_that_nobody_knows_is_named(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for page in recording.glob("*.txt"):
        page.write_text("# TYPE coffee_cups_total counter\ncoffee_cups_total 3\n")
    code, db = _imported(tmp_path, recording)
    assert code == 0
    assert "vllm: no known engine or gateway speaks like this page" in capsys.readouterr().err
    assert _ask(db, QUALITY) == [("scrape_failed", "vllm", COUNT)]


def test_a_body_that_is_no_otlp_is_named_and_the_others_are_stored(
    spans: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    engine, _ = spans
    broken = sorted(engine.glob("*.bin"))[0]
    broken.write_bytes(b"\xff\xfe no protobuf")
    code, db = _imported(tmp_path, engine)
    assert code == 0
    assert f"{broken}: body of" in capsys.readouterr().err
    assert _ask(db, "select count(*) > 10 from requests") == [(True,)]


def test_a_span_without_attributes_is_counted_and_the_others_are_requests(
    spans: tuple[Path, Path], tmp_path: Path
) -> None:
    engine, _ = spans
    code, whole = _imported(tmp_path, engine)
    requests = _ask(whole.rename(tmp_path / "whole.duckdb"), "select count(*) from requests")[0][0]
    path = next(body for body in sorted(engine.glob("*.bin")) if b"llm_request" in body.read_bytes())
    message = ExportTraceServiceRequest.FromString(path.read_bytes())
    found = [span for part in message.resource_spans for scope in part.scope_spans for span in scope.spans]
    emptied = sum(span.name == "llm_request" for span in found)
    for span in found:
        del span.attributes[:]
    path.write_bytes(message.SerializeToString())
    code, db = _imported(tmp_path, engine)
    assert code == 0
    assert _ask(db, "select count(*) from requests") == [(requests - emptied,)]
    assert _ask(db, "select kind, count from data_quality where kind = 'empty_span'") == [("empty_span", emptied)]


@pytest.mark.parametrize("shift", [HOUR_NS, -HOUR_NS], ids=["ahead", "behind"])
def test_an_engines_clock_an_hour_off_makes_no_latency_of_an_hour(
    shift: int, spans: tuple[Path, Path], tmp_path: Path
) -> None:
    engine, gateway = spans
    code, right = _imported(tmp_path, engine, gateway)
    right = right.rename(tmp_path / "right.duckdb")
    for path in engine.glob("*.bin"):
        if "-logs" in path.name or "-metrics" in path.name:
            continue
        message = ExportTraceServiceRequest.FromString(path.read_bytes())
        for resource in message.resource_spans:
            for scope in resource.scope_spans:
                for span in scope.spans:
                    span.start_time_unix_nano += shift
                    span.end_time_unix_nano += shift
        path.write_bytes(message.SerializeToString())
    code, db = _imported(tmp_path, engine, gateway)
    assert code == 0
    sources = "select source, count(*) from requests group by all order by all"
    assert _ask(db, sources) == _ask(right, sources)
    worst = "select max(ttft_seconds) < 120, max(e2e_seconds) < 120, count(ttft_seconds) from requests"
    assert _ask(db, worst) == _ask(right, worst)
    ((_, count, example),) = _ask(db, "select kind, count, example from data_quality where kind = 'clock_offset'")
    assert count == _ask(db, "select count(*) from requests where source = 'joined'")[0][0]
    assert abs(float(str(example).split()[-2]) - shift / 1e9) < 60
    assert _ask(right, "select count(*) from data_quality where kind = 'clock_offset'") == [(0,)]


def test_an_unknown_column_is_named_with_the_nearest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad, good = tmp_path / "requests.csv", tmp_path / "changes.csv"
    bad.write_text("ts,model,status,tennant\n2026-05-01T00:00:00Z,m,ok,acme\n")
    good.write_text("ts,kind,summary\n2026-05-01T00:00:00Z,release,v2\n")
    code, db = _imported(tmp_path, bad, good)
    assert code == 0
    assert "requests.csv: unknown column 'tennant' of requests; did you mean 'tenant'?" in capsys.readouterr().err
    assert _ask(db, "select (select count(*) from requests), (select count(*) from changes)") == [(0, 1)]
    assert _imported(tmp_path, bad)[0] == 1


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("requests.csv", "ts,model\n2026-05-01T00:00:00Z,m\n", "needs a column status or e2e_seconds"),
        ("requests.csv", "model,status\nm,ok\n", "needs the columns ts"),
        ("requests.csv", "ts,model,status,input_tokens\n2026-05-01T00:00:00Z,m,ok,many\n", "requests.csv"),
        ("requests.parquet", "no parquet", "cannot be read"),
        ("latency_bins.csv", "ts\n", "derived and cannot be imported"),
        ("trace.csv", "a,b\n1,2\n", "not recognised"),
        ("log.jsonl", '{"hello": 1}\n', "not recognised"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(
    name: str, content: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_text(content)
    code, _ = _imported(tmp_path, tmp_path / name)
    assert code == 1
    assert said in capsys.readouterr().err

"""The command line: what it prints, where, and with which exit status."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from agent.cli import main
from agent.httpserver import Request, Response, Server, serve
from tests.support import pages


@pytest.fixture
def engine() -> Iterator[Server]:
    def answer(request: Request) -> Response:
        found = {"/metrics": pages.read("vllm-0172"), "/broken": "<html>", "/litellm": pages.read("litellm-0055")}
        text = found.get(request.path)
        return Response(404, b"") if text is None else Response(200, text.encode())

    server = serve(("127.0.0.1", 0), answer, 1000, "engine")
    yield server
    server.stop()


def run(*argv: str, env: Mapping[str, str] | None = None) -> tuple[int, str, str]:
    stdout, stderr = io.StringIO(), io.StringIO()
    status = main(argv, stdout, stderr, env or {})
    return status, stdout.getvalue(), stderr.getvalue()


def test_scrape_prints_the_whole_page_in_canonical_words(engine: Server) -> None:
    status, out, _ = run("scrape", f"http://127.0.0.1:{engine.port}", "-o", "json")
    found = json.loads(out)
    assert status == 0
    assert (found["engine"], found["models"]) == ("vllm", ["tiny-llama"])
    hits = [row for row in found["signals"] if row["signal"] == "prefix_hit_tokens"]
    assert [(row["value"], row["unit"]) for row in hits] == [(60416.0, "{token}")]
    ttft = next(row for row in found["histograms"] if row["signal"] == "ttft_seconds")
    assert len(ttft["counts"]) == len(ttft["edges"]) + 1
    assert found["missing"] == []
    assert found["errors"] == []


@pytest.mark.parametrize("output", ["table", "csv"])
def test_scrape_prints_for_people_and_for_sheets(engine: Server, output: str) -> None:
    status, out, _ = run("scrape", f"127.0.0.1:{engine.port}/litellm", "-o", output)
    assert status == 0
    assert "gateway_input_tokens" in out


def test_nobody_there_is_another_status_than_a_bad_page(engine: Server) -> None:
    assert run("scrape", "http://127.0.0.1:9/metrics")[0] == 4
    status, out, err = run("scrape", f"http://127.0.0.1:{engine.port}/broken")
    assert (status, out) == (1, "")
    assert "not a metrics page" in err
    assert run("scrape", f"http://127.0.0.1:{engine.port}", "--engine", "vlm")[0] == 2


def test_check_says_what_every_target_gives(engine: Server, tmp_path: Path) -> None:
    config = tmp_path / "agent.yaml"
    base = f"http://127.0.0.1:{engine.port}"
    config.write_text(f"targets: [{{url: {base}}}, {{url: '{base}/broken', instance: b, engine: vllm}}]\n")
    status, out, _ = run("check", "--config", str(config), "-o", "json")
    rows = json.loads(out)
    assert status == 1
    assert [row["state"] for row in rows] == ["ok", "failed"]
    assert rows[0]["models"] == "tiny-llama"


def test_a_wrong_file_lists_its_faults_and_starts_nothing(tmp_path: Path) -> None:
    config = tmp_path / "agent.yaml"
    config.write_text("agnt: {}\ntargets: [{url: x}]\n")
    status, out, err = run("run", "--config", str(config))
    assert (status, out) == (2, "")
    assert "agnt: unknown key; did you mean 'agent'?" in err
    assert run("run", "--config", str(tmp_path / "gone.yaml"))[0] == 2


def test_print_config_shows_every_value_and_its_source(tmp_path: Path) -> None:
    config = tmp_path / "agent.yaml"
    config.write_text("collector: {url: 'http://c'}\n")
    status, out, _ = run("run", "--config", str(config), "--print-config", env={"SLOSCOPE_AGENT_NAME": "n"})
    assert status == 0
    assert "agent.name = 'n'  # SLOSCOPE_AGENT_NAME" in out
    assert f"collector.url = 'http://c'  # {config}" in out
    assert "gpu.tick = 1.0  # default" in out


def test_doctor_says_what_to_mend(tmp_path: Path) -> None:
    config = tmp_path / "agent.yaml"
    config.write_text(
        f"agent: {{spool: '{tmp_path}/s.db', listen: '127.0.0.1:0', spool_max_bytes: 1MB}}\n"
        "spans: {listen: '127.0.0.1:0'}\ngpu: {enabled: 'no'}\n"
    )
    status, out, _ = run("doctor", "--config", str(config), "-o", "json")
    rows = {row["check"]: row for row in json.loads(out)}
    assert status == 1
    assert rows["spool"]["state"] == "ok"
    assert rows["collector"]["remedy"].startswith("set it")


def test_help_opens_with_examples() -> None:
    for command in ("run", "check", "scrape", "doctor"):
        status, out, _ = run(command, "--help")
        assert status == 0 or out == ""


def test_without_the_usual_file_the_agent_looks_for_engines_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.cli.USUAL_FILE", tmp_path / "agent.yaml")
    status, out, _ = run("run", "--config", str(tmp_path / "agent.yaml"), "--print-config")
    assert status == 0
    assert "discovery.processes.enabled = True" in out


def test_check_asks_what_is_discovered_too(engine: Server, tmp_path: Path) -> None:
    (tmp_path / "targets.json").write_text(f'[{{"targets": ["127.0.0.1:{engine.port}"], "labels": {{"pool": "p"}}}}]')
    (tmp_path / "broken.yaml").write_text("nonsense")
    config = tmp_path / "agent.yaml"
    config.write_text(f"discovery: {{file: {{files: ['{tmp_path}/targets.json']}}}}\n")
    status, out, _ = run("check", "--config", str(config), "-o", "json")
    assert (status, [row["engine"] for row in json.loads(out)]) == (0, ["vllm"])
    config.write_text(f"discovery: {{file: {{files: ['{tmp_path}/broken.yaml']}}}}\n")
    status, out, _ = run("check", "--config", str(config), "-o", "json")
    assert (status, [row["instance"] for row in json.loads(out)]) == (1, ["discovery file"])

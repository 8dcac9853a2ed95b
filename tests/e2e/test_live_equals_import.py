"""The agent that scrapes recorded pages live and the importer that reads them store the same rows, times aside."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import duckdb
import pytest
import yaml

from collector.demo.processes import Processes, free_port, tool
from collector.demo.recording import unpack
from collector.importer.recordings import recorded_pages, scrapes_of
from collector.store.store import Store
from signals.records import Target

pytestmark = pytest.mark.e2e
#: Pages 40 to 69 of the recording: the burst, where every counter moves.
FIRST, COUNT = 40, 30
IGNORED = {"ts", "interval_seconds"}


class Pages:
    """Serves one recorded page after the other, a page per GET."""

    def __init__(self, pages: list[bytes]) -> None:
        self.served = 0
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = pages[min(outer.served, len(pages) - 1)]
                outer.served += 1
                self.send_response(200)
                self.send_header("content-type", "text/plain; version=0.0.4")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}/metrics"


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    running = Processes(tmp_path)
    yield running
    running.stop()


def rows(database: Path, table: str, limit: int) -> list[tuple[object, ...]]:
    with duckdb.connect(str(database), read_only=True) as connection:
        columns = [row[0] for row in connection.execute(f"describe {table}").fetchall() if row[0] not in IGNORED]
        listed = ", ".join(f'"{name}"' for name in columns)
        distinct = "(select distinct ts from engine_samples)"
        times = f"select ts, row_number() over (order by ts) as page from {distinct} limit {limit}"
        found = connection.execute(f"select page, {listed} from {table} join ({times}) as t using (ts)").fetchall()
    return sorted(found, key=repr)


def test_the_agent_and_the_importer_store_the_same_rows(tmp_path: Path, processes: Processes) -> None:
    folder = unpack("vllm-live", tmp_path)
    recorded = recorded_pages(folder)[FIRST : FIRST + COUNT]
    live, imported = tmp_path / "live.duckdb", tmp_path / "imported.duckdb"

    index = folder / "index.jsonl"
    index.write_text("\n".join(index.read_text().splitlines()[FIRST : FIRST + COUNT]) + "\n")
    with Store.open(imported) as store:
        store.commit(list(scrapes_of(folder, Target("vllm-live"))))

    pages = Pages([page.path.read_bytes() for page in recorded])
    collector_port = free_port()
    config = {
        "collector": {"url": f"http://127.0.0.1:{collector_port}"},
        "agent": {"name": "twin", "listen": f"127.0.0.1:{free_port()}", "spool": str(tmp_path / "spool.db")},
        "spans": {"listen": None},
        "targets": [{"url": pages.url, "engine": "vllm", "instance": "vllm-live", "interval": "0.2s", "host": "h"}],
    }
    (tmp_path / "agent.yaml").write_text(yaml.safe_dump(config))
    processes.start("collector", [tool("sloscope"), "serve", "--db", str(live), "--port", str(collector_port)])
    processes.wait_for("collector", (tmp_path / "live.duckdb.serving").exists)
    processes.start("agent", [tool("sloscope-agent"), "run", "--config", str(tmp_path / "agent.yaml")])
    processes.wait_for("the pages", lambda: pages.served >= COUNT)
    processes.stop("agent")
    processes.stop("collector")

    for table in ("engine_samples", "engine_bins", "signal_samples"):
        assert rows(live, table, COUNT) == rows(imported, table, COUNT), table
    assert len(rows(live, "engine_samples", COUNT)) == COUNT


def test_commands_work_as_modules_of_the_same_interpreter() -> None:
    answer = subprocess.run(
        [sys.executable, "-c", "import sys; from collector.cli.main import main; sys.exit(main(['--version']))"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert answer.returncode == 0
    assert answer.stdout.startswith("sloscope")

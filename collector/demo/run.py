"""Runs the demo: pages and spans → agent → collector → answers, and the dashboard where a person watches."""

from __future__ import annotations

import contextlib
import tempfile
import time
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import httpx

from collector.cli.place import FilePlace, serving_url
from collector.cli.serving import dashboard_command
from collector.demo.processes import Processes, agent_config, free_port, tool
from collector.demo.recording import ENSEMBLES
from collector.demo.replay import Stage
from signals.errors import NotEnoughDataError

Say = Callable[[str], None]
#: The four answers of `demo --once`, in the order of the questions.
ANSWERS = ("status", "explain", "forecast", "scale")
#: vLLM's recording is quiet in the beginning; the burst comes 68 s after its start.
DEFAULT_OFFSET_SECONDS = 10.0
ENGINE_MODEL_QUERY = (
    "select model from engine_samples where model is not null group by model order by sum(first_tokens) desc nulls last"
)


@dataclass(frozen=True, slots=True)
class Settings:
    """How the demo runs: seconds of replay for --once, scrape interval, port of the dashboard, where it works."""

    seconds: float = 170.0
    interval: float = 2.0
    offset: float = DEFAULT_OFFSET_SECONDS
    port: int = 8501
    folder: Path | None = None
    open_browser: bool = True


def run_once(settings: Settings, say: Say) -> dict[str, object]:
    """Replay for a while, stop everything, and return what the commands say of the store that is left."""
    with contextlib.ExitStack() as closing:
        folder = _folder(settings, closing)
        processes = Processes(folder)
        closing.callback(processes.stop)
        stage, url, agent_page = _start(settings, folder, processes, closing, say)
        say(f"replaying {settings.seconds:g} s of recorded traffic in real time ...")
        deadline = time.monotonic() + settings.seconds
        while time.monotonic() < deadline:
            processes.check()
            time.sleep(min(1.0, max(0.0, deadline - time.monotonic())))
        stage.stop()
        processes.stop("agent")
        say(f"{stage.sent} span bodies sent, {stage.failed} refused; stopping the collector {url}")
        processes.stop("collector")
        del agent_page
        database = folder / "demo.duckdb"
        say(f"the store is {database}")
        return answers(database)


def run_watched(settings: Settings, say: Say) -> None:
    """Replay for ever, with the dashboard, until the user stops it."""
    with contextlib.ExitStack() as closing:
        folder = _folder(settings, closing)
        processes = Processes(folder)
        closing.callback(processes.stop)
        _, url, _ = _start(settings, folder, processes, closing, say)
        command, environment = dashboard_command(url, None, f"127.0.0.1:{settings.port}", open_=False)
        processes.start("dashboard", command, environment)
        page = f"http://127.0.0.1:{settings.port}"
        processes.wait_for("the dashboard", lambda: httpx.get(f"{page}/_stcore/health", timeout=2.0).is_success)
        say(f"dashboard: {page}   collector: {url}   (Ctrl-C ends the demo; store and logs: {folder})")
        say("the recorded burst begins about a minute from now")
        if settings.open_browser:
            webbrowser.open(page)
        while True:
            processes.check()
            time.sleep(1.0)


def answers(database: Path) -> dict[str, object]:
    """Return the four contract objects of a store, exactly as the commands print them."""
    place = FilePlace(database, None)
    model = main_model(database)
    given: dict[str, dict[str, object]] = {"explain": {"model": model}, "forecast": {"model": model}}
    return {name: place.answer(name, given.get(name, {})) for name in ANSWERS}


def main_model(database: Path) -> str:
    """Return the model that served most: the one that is explained and forecast."""
    rows = FilePlace(database, None).sql(ENGINE_MODEL_QUERY, 1)["rows"]
    if not isinstance(rows, list) or not rows:
        raise NotEnoughDataError(f"{database}: no engine was sampled; let the demo run longer")
    return str(rows[0]["model"])


def _folder(settings: Settings, closing: contextlib.ExitStack) -> Path:
    if settings.folder is not None:
        settings.folder.mkdir(parents=True, exist_ok=True)
        return settings.folder
    return Path(closing.enter_context(tempfile.TemporaryDirectory(prefix="sloscope-demo-")))


def _start(
    settings: Settings, folder: Path, processes: Processes, closing: contextlib.ExitStack, say: Say
) -> tuple[Stage, str, str]:
    """Start collector, pages and agent; return (stage, collector URL, the agent's own page)."""
    database = folder / "demo.duckdb"
    say("starting the collector ...")
    command = [tool("sloscope"), "serve", "--db", str(database), "--port", "0"]
    processes.start("collector", command)
    processes.wait_for("the collector", lambda: serving_url(database) is not None)
    url = serving_url(database) or ""
    stage = Stage(ENSEMBLES, folder / "recordings", settings.offset)
    closing.callback(stage.stop)
    ports = (free_port(), free_port())
    config = agent_config(folder, url, stage.url, stage.members, ports, settings.interval)
    say("starting the agent ...")
    stage.start()
    processes.start("agent", [tool("sloscope-agent"), "run", "--config", str(config)])
    page = f"http://127.0.0.1:{ports[0]}"
    processes.wait_for("the agent", lambda: httpx.get(f"{page}/healthz", timeout=2.0).is_success)
    stage.send_spans(f"http://127.0.0.1:{ports[1]}")
    return stage, url, page

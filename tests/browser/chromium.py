"""Debian's chromium under Playwright, and a dashboard in front of a store of recordings; skips where there is none."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
from playwright.sync_api import Page, sync_playwright

from collector.cli.place import serving_url
from collector.cli.serving import dashboard_command
from collector.demo.processes import Processes, free_port, tool

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
             "--disable-component-update", "--disable-sync"]  # fmt: skip
PAGES = ("overview", "explain", "scaling", "planners", "request", "instances", "sql")
#: Long enough for a cold start of Streamlit on two busy cores.
PATIENCE_MS = 60_000


def chromium() -> str | None:
    """Return the path of a chromium, or None."""
    return next(
        (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
    )


@dataclass(slots=True)
class Watched:
    """A browser page with everything that went wrong in it."""

    page: Page
    errors: list[str]

    def open(self, url: str) -> None:
        """Open a page of the dashboard and wait until Streamlit has drawn it."""
        self.page.goto(url, wait_until="domcontentloaded", timeout=PATIENCE_MS)
        self.page.wait_for_selector("h1", timeout=PATIENCE_MS)
        self.settle()

    def settle(self) -> None:
        """Wait until nothing is being computed any more."""
        self.page.wait_for_function(
            "() => !document.querySelector('[data-testid=stStatusWidget]') && !document.querySelector('.stSpinner')",
            timeout=PATIENCE_MS,
        )
        self.page.wait_for_timeout(700)


@contextmanager
def browser(width: int = 1400, height: int = 1000) -> Iterator[Watched]:
    """Yield a page whose script and console errors are collected."""
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        page = launched.new_page(viewport={"width": width, "height": height})
        watched = Watched(page, [])
        page.on("pageerror", lambda error: watched.errors.append(f"page: {error}"))
        page.on(
            "console",
            lambda message: watched.errors.append(f"console: {message.text}") if message.type == "error" else None,
        )
        try:
            yield watched
        finally:
            launched.close()


@contextmanager
def dashboard(database: Path, folder: Path) -> Iterator[str]:
    """Serve a store and its dashboard; yield the dashboard's address."""
    processes = Processes(folder)
    try:
        processes.start(
            "collector", [tool("sloscope"), "serve", "--db", str(database), "--port", "0", "--jobs", "false"]
        )
        processes.wait_for("the collector", lambda: serving_url(database) is not None)
        port = free_port()
        command, environment = dashboard_command(serving_url(database) or "", None, f"127.0.0.1:{port}", open_=False)
        environment["SLOSCOPE_NOW"] = "newest"
        processes.start("dashboard", command, environment)
        address = f"http://127.0.0.1:{port}"
        processes.wait_for("the dashboard", lambda: httpx.get(f"{address}/_stcore/health", timeout=2.0).is_success)
        yield address
    finally:
        processes.stop()

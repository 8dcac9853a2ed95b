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
PAGES = ("Overview", "Explain", "Scaling", "Planners", "Request", "Instances", "SQL")
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

    def open(self, address: str) -> None:
        """Open the dashboard's first page and wait until it is drawn."""
        self.page.goto(address, wait_until="domcontentloaded", timeout=PATIENCE_MS)
        self.page.wait_for_selector("h1", timeout=PATIENCE_MS)
        self.settle()

    def turn_to(self, title: str) -> None:
        """Follow the navigation to another page, as a person would."""
        self.page.locator("[data-testid=stSidebarNavLink]", has_text=title).first.click()
        self.page.wait_for_selector(f"h1:has-text('{title}')", timeout=PATIENCE_MS)
        self.settle()

    def settle(self) -> None:
        """Wait until no script runs and nothing is a placeholder any more."""
        self.page.wait_for_timeout(300)
        self.page.wait_for_function(
            """() => document.querySelector("[data-testid=stApp]")?.dataset.testScriptState === "notRunning"
                && !document.querySelector("[data-testid=stSkeleton]")""",
            timeout=PATIENCE_MS,
        )
        self.page.wait_for_timeout(500)


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
            lambda message: (
                watched.errors.append(f"console: {message.text} {message.location.get('url', '')}")
                if message.type == "error"
                else None
            ),
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

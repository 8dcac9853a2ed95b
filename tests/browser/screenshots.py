"""Draws every page of the dashboard over a store of recordings into build/screenshots/ (`make screenshots`)."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.browser.chromium import PAGES, browser, chromium, dashboard
from tests.support.recordings import filled_store

TARGET = Path(__file__).resolve().parents[2] / "build" / "screenshots"


def main(database: Path | None) -> int:
    """Draw the pages; return 1 when there is no browser or a page had an error."""
    if chromium() is None:
        print("no chromium here: install Debian's package chromium", file=sys.stderr)
        return 1
    TARGET.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        store = database or filled_store(folder, "vllm-live", "vllm-live-otlp")[0]
        with dashboard(store, folder) as address, browser() as watched:
            watched.open(address)
            for title in PAGES:
                watched.turn_to(title)
                picture = TARGET / f"{title.lower()}.png"
                watched.page.screenshot(path=picture, full_page=True)
                print(picture)
            for error in watched.errors:
                print(error, file=sys.stderr)
            return 1 if watched.errors else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else None))

"""A collector on a loopback port in this process: real HTTP, real store; no signal, no child process."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from collector.api.app import build_app
from collector.api.gate import Gate
from collector.config import CollectorConfig
from collector.serve import build_services


@contextmanager
def served(database: Path, **settings: object) -> Iterator[str]:
    """Serve a store without jobs and with its `.serving` note, as `sloscope serve` does; yield the URL."""
    config = CollectorConfig(db=str(database), port=0, linger_seconds=0.0, jobs=False, **settings)  # type: ignore[arg-type]
    services = build_services(config)
    app = Gate(build_app(services), services)
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", lifespan="off"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.005)
    url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    note = database.with_name(database.name + ".serving")
    note.write_text(url + "\n", encoding="utf-8")
    try:
        yield url
    finally:
        server.should_exit = True
        thread.join(timeout=10.0)
        note.unlink(missing_ok=True)
        services.writer.close()
        services.store.close()

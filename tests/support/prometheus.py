"""A small Prometheus that answers query_range from recorded pages, as the real one does: instant by instant."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from prometheus_client.parser import text_string_to_metric_families

#: How far back Prometheus looks for the sample that stands at an instant.
LOOKBACK_SECONDS = 300.0
Series = dict[tuple[tuple[str, str], ...], list[tuple[float, str]]]


@dataclass(slots=True)
class FakePrometheus:
    """The address, and every query that came in; `fails` many of them are answered with 503."""

    url: str = ""
    queries: list[Mapping[str, str]] = field(default_factory=list)
    fails: int = 0
    series: Series = field(default_factory=dict)

    def record(self, instance: str, job: str, pages: Mapping[float, str]) -> None:
        """Keep the pages that one target showed at those times (Unix seconds)."""
        for time, page in sorted(pages.items()):
            for family in text_string_to_metric_families(page):
                for sample in family.samples:
                    labels = {"__name__": sample.name, "instance": instance, "job": job, **sample.labels}
                    self.series.setdefault(tuple(sorted(labels.items())), []).append((time, repr(sample.value)))

    def answer(self, asked: Mapping[str, str]) -> dict[str, object]:
        """Return the matrix of a range; the selector is taken as `everything`."""
        start, end, step = (float(asked[name]) for name in ("start", "end", "step"))
        instants = [start + step * number for number in range(int((end - start) / step + 1e-6) + 1)]
        result = []
        for labels, samples in self.series.items():
            values = []
            for instant in instants:
                before = [value for time, value in samples if instant - LOOKBACK_SECONDS <= time <= instant + 1e-6]
                if before:
                    values.append([instant, before[-1]])
            if values:
                result.append({"metric": dict(labels), "values": values})
        return {"status": "success", "data": {"resultType": "matrix", "result": result}}


@contextmanager
def prometheus() -> Iterator[FakePrometheus]:
    """Serve a fake Prometheus on a loopback port."""
    fake = FakePrometheus()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            asked = {name: values[-1] for name, values in parse_qs(parts.query).items()}
            fake.queries.append({"path": parts.path, **asked})
            broken = len(fake.queries) <= fake.fails
            body = b"overloaded" if broken else json.dumps(fake.answer(asked)).encode()
            self.send_response(503 if broken else 200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class's own name
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    fake.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()

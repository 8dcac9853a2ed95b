"""Replays ensembles in real time: serves each program's page of that moment, sends its spans when they were sent."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx

from collector.demo.recording import Body, Ensemble, Member, bodies_of, pages_of, shifted, unpack
from collector.importer.recordings import RecordedPage

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
#: Wait between the end of a recording and its next lap.
PAUSE_SECONDS = 4.0
#: How often the sender looks for spans that are due.
TICK_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Track:
    """One program of an ensemble, ready to replay: pages and bodies on the ensemble's clock."""

    member: Member
    begin: float
    pages: tuple[RecordedPage, ...]
    bodies: tuple[Body, ...]


class Stage:
    """The replayed programs behind one loopback server: `/INSTANCE/metrics` is the page of this moment.

    `start_offset` skips the quiet beginning. `clock` is Unix seconds. Spans go to `spans_url/INSTANCE/v1/traces`.
    """

    def __init__(
        self, ensembles: tuple[Ensemble, ...], folder: Path, start_offset: float, clock: Callable[[], float] = time.time
    ) -> None:
        self._clock = clock
        self._offset = start_offset
        self._tracks = [track for ensemble in ensembles for track in _tracks(ensemble, folder)]
        self._lengths = {track.member.instance: _length(track) for track in self._tracks}
        self._begun = clock()
        self._stop = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self.page))
        self._threads = [threading.Thread(target=self._server.serve_forever, daemon=True, name="demo-pages")]
        self.sent = 0
        self.failed = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def members(self) -> list[Member]:
        return [track.member for track in self._tracks]

    def start(self) -> None:
        """Begin to show pages: the recordings' clock starts now."""
        self._begun = self._clock()
        for thread in self._threads:
            thread.start()

    def send_spans(self, spans_url: str) -> None:
        """Send the spans that are due, beginning with those that were due since `start`."""
        for track in self._tracks:
            name = f"demo-{track.member.instance}"
            thread = threading.Thread(target=self._send, args=(track, spans_url), daemon=True, name=name)
            self._threads.append(thread)
            thread.start()

    def stop(self) -> None:
        """Stop sending and serving, also before anything began."""
        self._stop.set()
        if self._threads[0].is_alive():
            self._server.shutdown()
        self._server.server_close()

    def page(self, instance: str) -> bytes | None:
        """Return the page that `instance` shows now, or None for an unknown one."""
        for track in self._tracks:
            if track.member.instance == instance:
                at, _ = self._position(track)
                shown = [page for page in track.pages if page.time - track.begin <= at] or [track.pages[0]]
                return _shown(shown[-1].path.read_bytes(), track.member)
        return None

    def _position(self, track: Track) -> tuple[float, int]:
        """Return (seconds into the recording, lap)."""
        length = self._lengths[track.member.instance] + PAUSE_SECONDS
        elapsed = self._clock() - self._begun + self._offset
        return elapsed % length, int(elapsed // length)

    def _send(self, track: Track, spans_url: str) -> None:
        url = f"{spans_url}/{track.member.instance}/v1/traces"
        last = (self._offset, 0)
        with httpx.Client(timeout=10.0) as client:
            while not self._stop.wait(TICK_SECONDS):
                at, lap = self._position(track)
                since = last[0] if lap == last[1] else -1.0
                now_ns = round(self._clock() * 1e9)
                shift = now_ns - round((track.begin + at) * 1e9)
                for body in track.bodies:
                    if since < body.offset <= at:
                        self._post(client, url, shifted(body.path.read_bytes(), shift, lap))
                last = (at, lap)

    def _post(self, client: httpx.Client, url: str, body: bytes) -> None:
        try:
            answer = client.post(url, content=body, headers={"content-type": "application/x-protobuf"})
            answer.raise_for_status()
            self.sent += 1
        except httpx.HTTPError:
            self.failed += 1


def _tracks(ensemble: Ensemble, folder: Path) -> list[Track]:
    """Unpack an ensemble; its programs share the clock that begins with the earliest page."""
    unpacked = [(member, unpack(member.recording, folder), unpack(member.spans, folder)) for member in ensemble.members]
    pages = {member.instance: pages_of(place) for member, place, _ in unpacked}
    begin = min(found[0].time for found in pages.values())
    return [
        Track(member, begin, tuple(pages[member.instance]), tuple(bodies_of(spans, begin)))
        for member, _, spans in unpacked
    ]


def _shown(page: bytes, member: Member) -> bytes:
    """Return a page under the model name that the demo shows."""
    if member.model is None:
        return page
    recorded, shown = (f'model_name="{name}"'.encode() for name in member.model)
    return page.replace(recorded, shown)


def _length(track: Track) -> float:
    return track.pages[-1].time - track.begin


def _handler(page: Callable[[str], bytes | None]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            parts = self.path.strip("/").split("/")
            body = page(parts[0]) if len(parts) == 2 and parts[1] == "metrics" else None
            self.send_response(404 if body is None else 200)
            content = body or b"no such instance\n"
            self.send_header("content-type", CONTENT_TYPE)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class's own name
            """Say nothing: the demo's own lines are enough."""

    return Handler

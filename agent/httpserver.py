"""A small HTTP server on threads: bodies within a limit, gzip undone, one answer a request; knows no routes itself."""

from __future__ import annotations

import socket
import threading
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

from agent.log import log
from signals.errors import PayloadError, SloscopeError, TooLargeError

LOCALHOST = "127.0.0.1"
IDLE_SECONDS = 75.0
#: How often an idle server looks whether it should stop; a stop that is asked for wakes it at once.
POLL_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Request:
    """What a client asked; header names are in lower case, the body is decompressed."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Response:
    """What it gets."""

    status: int
    body: bytes
    content_type: str = "text/plain; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)


Answering = Callable[[Request], Response]


@dataclass(slots=True)
class Server:
    """A running server; `port` is the real one when 0 was asked for."""

    host: str
    port: int
    _server: ThreadingHTTPServer

    def stop(self) -> None:
        """Stop serving; a connection to itself wakes the server, which otherwise looks up once a minute."""
        ending = threading.Thread(target=self._server.shutdown, daemon=True)
        ending.start()
        with suppress(OSError):
            socket.create_connection((self.host or LOCALHOST, self.port), 0.5).close()
        ending.join()
        self._server.server_close()


def serve(address: tuple[str, int], answer: Answering, max_bytes: int, name: str) -> Server:
    """Start serving in threads of their own. Raise OSError when the address is taken."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        server_version = "sloscope-agent"
        timeout = IDLE_SECONDS

        def handle_any(self) -> None:
            try:
                response = answer(_request(self, max_bytes))
            except TooLargeError as error:
                self.close_connection = True
                response = Response(413, error.message.encode())
            except PayloadError as error:
                self.close_connection = True
                response = Response(400, error.message.encode())
            except SloscopeError as error:
                response = Response(error.http_status, error.message.encode())
            self.send_response(response.status)
            self.send_header("Content-Type", response.content_type)
            self.send_header("Content-Length", str(len(response.body)))
            for key, value in response.headers.items():
                self.send_header(key, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(response.body)

        do_GET = do_POST = do_HEAD = do_PUT = do_DELETE = handle_any  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            log.debug("%s %s", name, format % args)

    class Listener(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128
        address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET

        def handle_error(self, request: object, client_address: object) -> None:  # noqa: ARG002 # the base class has it
            log.debug("%s: connection of %s broke", name, client_address)

        def server_bind(self) -> None:
            """Bind without the reverse look-up of the host's name that the base class makes."""
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self.socket.bind(address)
            self.server_address = self.socket.getsockname()
            self.server_name, self.server_port = address[0], self.server_address[1]

    server = Listener(address, Handler)
    threading.Thread(target=server.serve_forever, args=(POLL_SECONDS,), name=name, daemon=True).start()
    return Server(address[0], server.server_address[1], server)


def _request(handler: BaseHTTPRequestHandler, max_bytes: int) -> Request:
    headers = {key.lower(): value for key, value in handler.headers.items()}
    body = b""
    if headers.get("transfer-encoding", "").lower() == "chunked":
        body = _chunks(handler, max_bytes)
    elif headers.get("content-length", "0") != "0":
        try:
            length = int(headers["content-length"])
        except ValueError:
            raise PayloadError("Content-Length is no number") from None
        if length > max_bytes:
            raise TooLargeError(f"body of {length} bytes is over the limit of {max_bytes}", limit=max_bytes)
        body = handler.rfile.read(length)
    path = unquote(urlsplit(handler.path).path)
    return Request(handler.command, path, headers, inflate(body, headers.get("content-encoding", ""), max_bytes))


def _chunks(handler: BaseHTTPRequestHandler, max_bytes: int) -> bytes:
    parts = bytearray()
    while True:
        try:
            size = int(handler.rfile.readline(64).split(b";")[0], 16)
        except ValueError:
            raise PayloadError("chunked body is cut") from None
        if len(parts) + size > max_bytes:
            raise TooLargeError(f"body is over the limit of {max_bytes} bytes", limit=max_bytes)
        parts += handler.rfile.read(size)
        handler.rfile.readline(8)
        if size == 0:
            return bytes(parts)


def inflate(body: bytes, encoding: str, max_bytes: int) -> bytes:
    """Undo gzip or deflate, never beyond the limit: a few bytes of gzip can hold a gigabyte."""
    if encoding in {"", "identity"}:
        return body
    if encoding not in {"gzip", "deflate"}:
        raise PayloadError(f"Content-Encoding {encoding!r}; gzip, deflate or none is understood")
    unpacker = zlib.decompressobj(47)
    try:
        plain = unpacker.decompress(body, max_bytes + 1)
    except zlib.error as error:
        raise PayloadError(f"body is no {encoding}: {error}") from error
    if len(plain) > max_bytes:
        raise TooLargeError(f"body of more than {max_bytes} bytes after decompression", limit=max_bytes)
    return plain

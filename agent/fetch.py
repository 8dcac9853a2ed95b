"""Fetches pages over HTTP within a time and a size; follows redirects, never retries and keeps nothing."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit

import urllib3
from urllib3.exceptions import HTTPError, MaxRetryError
from urllib3.exceptions import TimeoutError as NetTimeoutError
from urllib3.util import Retry, Timeout, parse_url

from agent.config import Tls
from signals.errors import ConfigError, TooLargeError, UnreachableError

REDIRECTS = 3
MOVED = frozenset({301, 302, 303, 307, 308})
CHUNK = 1 << 18
_ERRNO = re.compile(r"\[Errno -?\d+\] (.*)$")
#: Text format first: the OpenMetrics parser is slower, and vLLM ignores the header anyway.
ACCEPT = "text/plain;version=0.0.4;q=1,application/openmetrics-text;version=1.0.0;q=0.2,*/*;q=0.1"
MISSING = (-1, -1)
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1", "[::1]"})


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server said: status, headers in lower case, decoded body, and seconds it took."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    seconds: float


@dataclass(slots=True)
class SecretFile:
    """The text of a small file, read again when the file changes."""

    path: str
    _stamp: tuple[int, int] = MISSING
    _text: str = ""

    def text(self) -> str:
        """Return the stripped text. Raise ConfigError when the file cannot be read."""
        stamp = _stamp(self.path)
        try:
            if stamp != self._stamp or stamp == MISSING:
                self._text = Path(self.path).read_text(encoding="utf-8").strip()
                self._stamp = stamp
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{self.path}: cannot be read: {error}") from error
        return self._text


@dataclass(slots=True)
class Credentials:
    """Headers that come from files, so that secrets appear in no configuration and no process list."""

    token: SecretFile | None = None
    others: SecretFile | None = None

    @classmethod
    def of(cls, token_file: str | None, headers_file: str | None) -> Credentials:
        return cls(SecretFile(token_file) if token_file else None, SecretFile(headers_file) if headers_file else None)

    def headers(self) -> dict[str, str]:
        found = {}
        if self.others is not None:
            for line in self.others.text().splitlines():
                name, colon, value = line.partition(":")
                if colon and name.strip():
                    found[name.strip()] = value.strip()
        if self.token is not None:
            found["Authorization"] = f"Bearer {self.token.text()}"
        return found


@dataclass(slots=True)
class Fetcher:
    """HTTP connections of one purpose under one set of certificates."""

    tls: Tls = field(default_factory=Tls)
    clock: Callable[[], float] = time.monotonic
    _pool: urllib3.PoolManager | None = None
    _stamps: tuple[tuple[int, int], ...] = ()
    _pools: dict[str, tuple[urllib3.HTTPConnectionPool, str]] = field(default_factory=dict)

    def get(self, url: str, headers: Mapping[str, str], limit_seconds: float, limit_bytes: int) -> Answer:
        """Return the answer to a GET, whatever its status; redirects are followed."""
        wanted = {"Accept": ACCEPT, "Accept-Encoding": encoding(url), **headers}
        return self._ask("GET", url, wanted, None, limit_seconds, limit_bytes)

    def post(self, url: str, headers: Mapping[str, str], body: bytes, limit_seconds: float) -> Answer:
        """Return the answer to a POST."""
        return self._ask("POST", url, headers, body, limit_seconds, CHUNK)

    def renew(self) -> None:
        """Drop every connection, so that the next request looks the name up again."""
        if self._pool is not None:
            self._pool.clear()
            self._pool = None
        self._pools.clear()

    def _ask(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None, limit: float, limit_bytes: int
    ) -> Answer:
        started = self.clock()
        self._renew_certificates()
        try:
            answer = self._direct(method, url, headers, body, limit)
            if body is None and answer.status in MOVED:
                answer.drain_conn()
                answer.release_conn()
                answer = self._following(url, headers, limit)
            try:
                content = self._read(answer, url, started + limit, limit_bytes)
            except BaseException:
                answer.close()
                raise
            answer.release_conn()
        except (NetTimeoutError, MaxRetryError, HTTPError, OSError) as error:
            raise UnreachableError(f"{url}: {_reason(error)}", url=url) from error
        named = {name.lower(): value for name, value in answer.headers.items()}
        return Answer(answer.status, named, content, self.clock() - started)

    def _renew_certificates(self) -> None:
        """Connect anew when a certificate file was replaced."""
        names = (self.tls.ca_file, self.tls.cert_file, self.tls.key_file)
        if any(names):
            stamps = tuple(_stamp(name) for name in names if name)
            if stamps != self._stamps:
                self._stamps = stamps
                self.renew()

    def _direct(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None, limit: float
    ) -> urllib3.BaseHTTPResponse:
        """Ask one host; its pool is looked up once, which halves the cost of a request."""
        pool, path = self._pools.get(url, (None, ""))
        if pool is None:
            pool, path = self._connections().connection_from_url(url), parse_url(url).request_uri
            self._pools[url] = (pool, path)
        return pool.urlopen(
            method,
            path,
            body,
            headers,
            retries=False,
            redirect=False,
            timeout=Timeout(total=limit),
            preload_content=False,
        )

    def _following(self, url: str, headers: Mapping[str, str], limit: float) -> urllib3.BaseHTTPResponse:
        """Ask again and follow; credentials do not go along to another host."""
        retries = Retry(total=None, connect=0, read=0, status=0, other=0, redirect=REDIRECTS)
        return self._connections().request(
            "GET", url, headers=dict(headers), timeout=Timeout(total=limit), retries=retries, preload_content=False
        )

    def _read(self, answer: urllib3.BaseHTTPResponse, url: str, deadline: float, limit_bytes: int) -> bytes:
        """Read a body within its limits: a page may come slowly, endlessly, or as a small gzip of a huge text."""
        parts: list[bytes] = []
        size = 0
        while chunk := answer.read(CHUNK, decode_content=True):
            parts.append(chunk)
            size += len(chunk)
            if size > limit_bytes:
                raise TooLargeError(f"{url}: body of more than {limit_bytes} bytes", limit=limit_bytes)
            if self.clock() > deadline:
                raise UnreachableError(f"{url}: body not complete in time", url=url)
        return b"".join(parts)

    def _connections(self) -> urllib3.PoolManager:
        if self._pool is None:
            tls = self.tls
            self._pool = urllib3.PoolManager(
                num_pools=4,
                maxsize=1,
                ca_certs=tls.ca_file,
                cert_file=tls.cert_file,
                key_file=tls.key_file,
                cert_reqs="CERT_NONE" if tls.insecure_skip_verify else "CERT_REQUIRED",
            )
        return self._pool


def _stamp(path: str) -> tuple[int, int]:
    try:
        facts = Path(path).stat()
    except OSError:
        return MISSING
    return facts.st_mtime_ns, facts.st_size


@lru_cache(maxsize=1024)
def encoding(url: str) -> str:
    """Return what to accept: over loopback, compressing costs more than it saves."""
    return "identity" if urlsplit(url).hostname in LOOPBACK else "gzip"


def _reason(error: Exception) -> str:
    """Return the innermost cause in one line, without addresses of objects."""
    inner: BaseException = error
    while isinstance(inner, MaxRetryError) and inner.reason is not None:
        inner = inner.reason
    text = str(inner)
    numbered = _ERRNO.search(text)
    return (numbered[1] if numbered else text.rpartition(">: ")[2] or text) or type(inner).__name__

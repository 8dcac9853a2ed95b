"""Delivers waiting batches to the collector, newest first while a backlog drains; never deletes what was not taken."""

from __future__ import annotations

import random
import threading
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime

from agent.config import CollectorConfig
from agent.encode import seal
from agent.fetch import Answer, Credentials, Fetcher
from agent.log import log
from agent.spool import METRICS, TRACES, Spool, Waiting
from signals.errors import ConfigError, SloscopeError

PATHS = {METRICS: "/v1/metrics", TRACES: "/v1/traces"}
#: Answers that mean "later", beside every 5xx: https://opentelemetry.io/docs/specs/otlp/#retryable-response-codes
LATER = frozenset({401, 403, 404, 408, 409, 425, 429})
#: Batches made within the last seconds are live: they go before a backlog.
LIVE_NS = 15_000_000_000
TIDY_EVERY = 200
#: Clocks that differ by more are told: rows carry the agent's time.
CLOCK_SECONDS = 2.0


@dataclass(slots=True)
class Delivery:
    """What became of one attempt: taken, refused for good, or to be tried again (after a while, if the server said)."""

    taken: bool = False
    refused: str | None = None
    error: str | None = None
    wait_seconds: float | None = None


@dataclass(slots=True)
class Shipper:
    """One thread that empties the spool.

    `random` draws from [0, 1) for the jitter; `watch` is told of every attempt (outcome, batches, bytes, seconds).
    """

    config: CollectorConfig
    spool: Spool
    fetcher: Fetcher
    wall_ns: Callable[[], int]
    watch: Callable[[str, int, int, float], None]
    stopping: threading.Event
    random: Callable[[], float] = random.random
    offset: Callable[[float], None] = lambda _seconds: None
    _failures: int = 0
    _deliveries: int = 0
    _warned: bool = False
    _limit: float | None = None
    _credentials: Credentials = field(default_factory=Credentials)

    def __post_init__(self) -> None:
        self._credentials = Credentials.of(self.config.token_file, self.config.headers_file)

    def run(self) -> None:
        """Deliver until stopped."""
        while not self.stopping.is_set():
            self.spool.fresh.clear()
            wait = self.round()
            if wait > 0:
                self.stopping.wait(wait)
            elif wait < 0:
                self.spool.fresh.wait(1.0)
                self.stopping.wait(self.config.linger_seconds)

    def round(self) -> float:
        """Deliver one live and one old chunk of each kind; return seconds to wait, -1 when there was nothing to do."""
        busy = False
        for kind in (METRICS, TRACES):
            if self.spool.empty:
                break
            recent = self.spool.waiting(kind, self.config.batch_bytes, newest_first=True)
            if not recent:
                continue
            busy = True
            live_since = self.wall_ns() - LIVE_NS
            wait = self._deliver(kind, [batch for batch in reversed(recent) if batch.made_ns > live_since])
            if not wait and not self.spool.empty:
                wait = self._deliver(kind, self.spool.waiting(kind, self.config.batch_bytes))
            if wait:
                return wait
        if busy:
            self._deliveries += 1
            if self._deliveries % TIDY_EVERY == 0:
                self.spool.tidy()
        return 0.0 if busy else -1.0

    def flush(self, seconds: float, clock: Callable[[], float]) -> None:
        """Deliver what can be delivered within some seconds; the rest stays on disk."""
        deadline = clock() + seconds
        while (left := deadline - clock()) > 0:
            self._limit = min(self.config.timeout_seconds, left)
            if self.round() != 0.0:
                return

    def _deliver(self, kind: str, chunk: Sequence[Waiting]) -> float:
        """Return seconds to wait before the next attempt; 0 when the chunk is settled."""
        if not chunk:
            return 0.0
        outcome = self._post(kind, chunk)
        if outcome.taken:
            self._failures = 0
            self.spool.done(chunk)
            return 0.0
        if outcome.refused is not None:
            self._failures = 0
            if len(chunk) == 1:
                log.error("the collector refuses a batch for good: %s", outcome.refused)
                self.spool.refuse(chunk[0], outcome.refused)
                return 0.0
            half = len(chunk) // 2
            return self._deliver(kind, chunk[:half]) or self._deliver(kind, chunk[half:])
        self._failures += 1
        self.fetcher.renew()
        if self._failures in (1, 10) or self._failures % 100 == 0:
            log.warning("not delivered (attempt %d): %s", self._failures, outcome.error)
        return self._pause(outcome.wait_seconds)

    def _post(self, kind: str, chunk: Sequence[Waiting]) -> Delivery:
        body = gzipped(seal((waiting.batch for waiting in chunk), self.wall_ns()))
        assert self.config.url is not None
        url = self.config.url.rstrip("/") + PATHS[kind]
        seconds = 0.0
        try:
            headers = {
                "Content-Type": "application/x-protobuf",
                "Content-Encoding": "gzip",
                "User-Agent": "sloscope-agent",
                **self._credentials.headers(),
            }
            answer = self.fetcher.post(url, headers, body, self._limit or self.config.timeout_seconds)
            seconds = answer.seconds
            self._compare_clocks(answer)
            outcome = judge(answer, self.wall_ns())
        except (SloscopeError, ConfigError) as error:
            outcome = Delivery(error=error.message)
        word = "ok" if outcome.taken else "refused" if outcome.refused is not None else "failed"
        self.watch(word, len(chunk), len(body), seconds)
        return outcome

    def _compare_clocks(self, answer: Answer) -> None:
        """Tell how far the collector's clock is ahead; its Date header has whole seconds."""
        try:
            theirs = parsedate_to_datetime(answer.headers["date"]).timestamp() + 0.5
        except (KeyError, TypeError, ValueError):
            return
        offset = theirs - self.wall_ns() / 1e9
        self.offset(offset)
        if abs(offset) > CLOCK_SECONDS and not self._warned:
            self._warned = True
            log.warning("the collector's clock is %.1f s ahead of this one (negative: behind)", offset)

    def _pause(self, asked_seconds: float | None) -> float:
        """Return the wait after a failure: what the server asked for, else exponential with full jitter."""
        if asked_seconds is not None:
            return min(asked_seconds, self.config.backoff_max_seconds) + self.random() * self.config.backoff_seconds
        ceiling = min(self.config.backoff_max_seconds, self.config.backoff_seconds * 2 ** min(self._failures - 1, 16))
        return float(max(0.01, self.random() * ceiling))


def judge(answer: Answer, now_ns: int) -> Delivery:
    """Return what an answer means for the batches behind it.

    Credentials that are wrong and paths that are missing are the operator's to mend: the batches wait.
    """
    status = answer.status
    if 200 <= status < 300:
        return Delivery(taken=True)
    why = f"HTTP {status}: {answer.body[:200].decode('utf-8', 'replace')}"
    if 400 <= status < 500 and status not in LATER:
        return Delivery(refused=why)
    return Delivery(error=why, wait_seconds=retry_after(answer.headers.get("retry-after"), now_ns))


def retry_after(text: str | None, now_ns: int) -> float | None:
    """Return the seconds of a Retry-After header, given as seconds or as a date."""
    if text is None:
        return None
    if text.strip().isdigit():
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now_ns / 1e9)
    except (TypeError, ValueError):
        return None


def gzipped(body: bytes) -> bytes:
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    return packer.compress(body) + packer.flush()

"""Scrapes one target: fetches its page, reads it in canonical words, and says what happened since the last one.

Never raises for a bad target: a failure is a scrape too, of state `failed`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from agent.config import LimitsConfig, TargetConfig
from agent.engines import find_page, get_dialect, page_url
from agent.fetch import LOOPBACK, Answer, Credentials, Fetcher
from agent.memory import Memory
from agent.tenants import cap_tenants
from agent.versions import ask_version
from signals.dialects import registry
from signals.dialects.form import Dialect
from signals.dialects.reader import PageReader
from signals.errors import PageError, SloscopeError, UnreachableError
from signals.pages import Page, PageParser
from signals.readings import Increments, PageReading, advance
from signals.records import FAILED, FROZEN, GONE, OK, Identity, Scrape, Target

#: An identity is given when a batch is written to disk, not before.
UNNUMBERED = Identity("", "", 0)
Group = tuple[str | None, str | None]


@dataclass(frozen=True, slots=True)
class Result:
    """One scrape and its costs; `memory` is None when the scrape failed."""

    scrape: Scrape
    memory: Memory | None
    seconds: float
    bytes: int = 0
    series: int = 0
    anomalies: int = 0
    resets: int = 0
    kind: str = ""


@dataclass(slots=True)
class Scraper:
    """Holds what one target's pages have said so far."""

    config: TargetConfig
    limits: LimitsConfig
    host: str
    fetcher: Fetcher
    wall_ns: Callable[[], int]
    memory: Memory | None = None
    version: str | None = None
    gpus: tuple[str, ...] = ()
    _credentials: Credentials = field(default_factory=Credentials)
    _parser: PageParser = field(default_factory=PageParser)
    _reader: PageReader | None = None
    _dialect: Dialect | None = None
    _url: str | None = None
    _tenants: set[str] = field(default_factory=set)
    _asked_life: tuple[str, float | None] | None = None

    def __post_init__(self) -> None:
        self._parser = PageParser(self.limits.body_bytes, self.limits.series)
        self._credentials = Credentials.of(self.config.token_file, self.config.headers_file)
        self._dialect = get_dialect(self.config.engine)

    @property
    def instance(self) -> str:
        return instance_of(self.config)

    @property
    def engine(self) -> str | None:
        return self._dialect.engine if self._dialect else None

    @property
    def gateway(self) -> bool:
        return self._dialect is not None and self._dialect.gateway

    @property
    def models(self) -> tuple[str, ...]:
        """Return the models seen on the last good page."""
        seen = [model for model, _ in self.memory.groups if model] if self.memory else []
        return tuple(dict.fromkeys(seen)) or ((self.config.model,) if self.config.model else ())

    def scrape(self) -> Result:
        """Fetch and read the page once."""
        asked_ns = self.wall_ns()
        try:
            answer = self._fetch()
            if answer.status != 200:
                raise UnreachableError(f"{self._url}: HTTP {answer.status}")
            page = self._parser.parse(answer.body.decode("utf-8", "replace"))
            reading = self._read(page)
        except SloscopeError as error:
            self._forget_page(error)
            return self._failed(asked_ns, error)
        return self._good(asked_ns, answer, page, reading)

    def farewell(self) -> Scrape:
        """Return the row that says that the target is gone: nobody is blind, there is nothing to see."""
        return replace(self._blank(self.wall_ns(), GONE), last_groups=self._groups())

    def page(self) -> tuple[PageReader, Page]:
        """Fetch the page once for people to look at. Raise what went wrong."""
        answer = self._fetch()
        if answer.status != 200:
            raise UnreachableError(f"{self._url}: HTTP {answer.status}")
        page = self._parser.parse(answer.body.decode("utf-8", "replace"))
        self._read(page)
        assert self._reader is not None
        return self._reader, page

    def _fetch(self) -> Answer:
        if self._url is None:
            self._url = page_url(self.config.url, self._dialect, self.config.allow_destructive) or find_page(
                self.config.url, self._get
            )
        return self._get(self._url)

    def _get(self, url: str) -> Answer:
        return self.fetcher.get(url, self._credentials.headers(), self.config.limit_seconds(), self.limits.body_bytes)

    def _read(self, page: Page) -> PageReading:
        if self._reader is None:
            self._dialect = self._dialect or registry.detect(page.layout)
            if self._dialect is None:
                raise PageError(f"{self._url}: a metrics page of no known engine; set `engine` if it is one")
            self._reader = PageReader(self._dialect, self.config.model, self.config.role)
        return self._reader.read(page)

    def _good(self, asked_ns: int, answer: Answer, page: Page, reading: PageReading) -> Result:
        before = self.memory
        state, increments = advance(before.state if before else None, reading)
        increments = self._capped(increments)
        groups = tuple((found.model, found.role) for found in increments)
        self.version = reading.engine_version or self._version_of(reading)
        self.memory = Memory(state, asked_ns, groups)
        scrape = replace(
            self._blank(asked_ns, FROZEN if state.frozen else OK),
            start_ns=before.good_ns if before else None,
            increments=increments,
            facts=dict(reading.facts),
            process_start=reading.process_start,
        )
        return Result(
            scrape,
            self.memory,
            answer.seconds,
            len(answer.body),
            len(page.values),
            len(page.layout.errors),
            sum(found.resets for found in increments),
        )

    def _version_of(self, reading: PageReading) -> str | None:
        """Return the version that the engine tells when asked, once in each of its lives.

        A target whose URL names a path is a page and perhaps nothing else: a proxy's, a recording's. Only a server as a
        whole is asked.
        """
        assert self._url is not None
        whole = not urlsplit(self.config.url).path.strip("/")
        if whole and self._asked_life != (reading.engine, reading.process_start):
            self._asked_life = (reading.engine, reading.process_start)
            self.version = ask_version(reading.engine, self._url, self._get)
        return self.version

    def _capped(self, increments: tuple[Increments, ...]) -> tuple[Increments, ...]:
        if not self.gateway:
            return increments
        return tuple(cap_tenants(found, self._tenants, self.limits.tenants) for found in increments)

    def _failed(self, asked_ns: int, error: SloscopeError) -> Result:
        scrape = replace(
            self._blank(asked_ns, FAILED),
            last_groups=self._groups(),
            error=f"{type(error).__name__}: {error.message}"[:300],
        )
        return Result(scrape, None, 0.0, kind=type(error).__name__)

    def _groups(self) -> tuple[Group, ...]:
        if self.memory is not None:
            return self.memory.groups
        return ((self.config.model, self.config.role),) if self.config.model else ()

    def _blank(self, asked_ns: int, state: str) -> Scrape:
        start = self.memory.good_ns if self.memory else None
        return Scrape(UNNUMBERED, self.target(), asked_ns, start, state)

    def _forget_page(self, error: SloscopeError) -> None:
        """Look for the page again if the server may have become another one."""
        if isinstance(error, PageError) and self.config.engine is None:
            self._reader = None
            self._dialect = None
            self._url = None

    def target(self) -> Target:
        """Return the target as it is known now."""
        config = self.config
        host = config.host or (self.host if urlsplit(config.url).hostname in LOOPBACK else None)
        return Target(
            self.instance,
            self.engine,
            config.model,
            config.role,
            self.version,
            config.model_version,
            config.pool,
            config.region,
            host,
            config.gpus or self.gpus,
        )


def instance_of(config: TargetConfig) -> str:
    """Return the configured instance, else host:port of the URL."""
    return config.instance or urlsplit(config.url).netloc.rpartition("@")[2] or config.url


def named(config: TargetConfig, host: str) -> TargetConfig:
    """Return the target with a name that no other machine's target has: loopback is everywhere."""
    parts = urlsplit(config.url)
    if config.instance or parts.hostname not in LOOPBACK:
        return config
    return replace(config, instance=f"{host}:{parts.port}" if parts.port else host)

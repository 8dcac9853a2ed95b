"""Replays a folder of recorded pages (`NNNN.txt`, `index.jsonl`) as scrapes, on the live path from readings on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from signals.dialects.reader import PageReader
from signals.dialects.registry import detect, get
from signals.errors import InputError, PageError
from signals.pages import Page, PageParser
from signals.readings import State, advance
from signals.records import FAILED, FROZEN, OK, Identity, Scrape, Target

AGENT = "import"


@dataclass(frozen=True, slots=True)
class RecordedPage:
    """One page of a recording: its file, when it was fetched (Unix seconds) and the HTTP status."""

    path: Path
    time: float
    status: int


def is_recording(folder: Path) -> bool:
    """Return whether a folder holds recorded pages."""
    return (folder / "index.jsonl").is_file() and any(folder.glob("[0-9][0-9][0-9][0-9].txt"))


def recorded_pages(folder: Path) -> list[RecordedPage]:
    """Return the pages in order; InputError names the line of the index that cannot be read."""
    index = folder / "index.jsonl"
    pages = []
    for number, line in enumerate(index.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            path = folder / f"{int(entry['n']):04d}.txt"
            page = RecordedPage(path, float(entry["t"]), int(entry.get("status", 200)))
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{index}:{number}: expected an object with n and t: {error}") from error
        if page.path.is_file():
            pages.append(page)
    return sorted(pages, key=lambda page: page.time)


class PageHistory:
    """Turns the pages of one target, in order, into scrapes: the part of a live scrape that follows the fetch."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._parser = PageParser()
        self._reader: PageReader | None = None
        self._state: State | None = None
        self._last_ns: int | None = None
        self._groups: tuple[tuple[str | None, str | None], ...] = ()

    def scrape(self, text: str, time_ns: int, identity: Identity) -> Scrape:
        """Return the scrape of one page; a page that is none becomes a failed scrape that says why."""
        try:
            page = self._parser.parse(text)
            reader = self._reader_of(page)
        except (PageError, InputError) as error:
            return self.failed(str(error), time_ns, identity)
        reading = reader.read(page)
        start = self._last_ns if self._state is not None else None
        self._state, increments = advance(self._state, reading)
        self._groups = tuple((found.model, found.role) for found in increments)
        self._last_ns = time_ns
        errors = page.layout.errors
        note = f"{len(errors)} unreadable lines; line {errors[0].line}: {errors[0].series}" if errors else None
        return Scrape(
            identity,
            self._described(reader, reading.engine_version),
            time_ns,
            start,
            FROZEN if self._state.frozen else OK,
            increments,
            (),
            reading.facts,
            reading.process_start,
            note,
        )

    def failed(self, why: str, time_ns: int, identity: Identity) -> Scrape:
        """Return the scrape of a page that could not be had."""
        return Scrape(identity, self._target, time_ns, self._last_ns, FAILED, (), self._groups, {}, None, why)

    def _reader_of(self, page: Page) -> PageReader:
        if self._reader is None:
            dialect = get(self._target.engine) if self._target.engine else detect(page.layout)
            if dialect is None:
                raise InputError(f"{self._target.instance}: no known engine or gateway speaks like this page")
            self._reader = PageReader(dialect, self._target.model, self._target.role)
        return self._reader

    def _described(self, reader: PageReader, version: str | None) -> Target:
        given = self._target
        return Target(
            given.instance,
            reader.dialect.engine,
            given.model,
            given.role,
            given.engine_version or version,
            given.model_version,
            given.pool,
            given.region,
            given.host,
            given.gpus,
        )


def scrapes_of(folder: Path, target: Target) -> Iterator[Scrape]:
    """Yield the scrapes of a recording; identities follow from the content, so importing twice stores once."""
    history = PageHistory(target)
    digest = hashlib.sha256(f"{target.instance}\n".encode())
    for number, page in enumerate(recorded_pages(folder)):
        body = page.path.read_bytes()
        digest.update(body)
        identity = Identity(AGENT, f"{target.instance}/{digest.hexdigest()[:32]}", number)
        time_ns = round(page.time * 1e9)
        if page.status != 200:
            yield history.failed(f"HTTP status {page.status}", time_ns, identity)
        else:
            yield history.scrape(body.decode("utf-8", errors="replace"), time_ns, identity)

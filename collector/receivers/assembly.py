"""Gathers the pieces of a remote-written scrape that arrive in several requests; decides when a page is whole.

Prometheus cuts scrapes wherever a request is full, and sends by several shards. A piece waits until its page is as
large as the target's last one, a later page of the target begins, or `SETTLE_SECONDS` pass.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from collector.receivers.remote_write import TargetPage

SETTLE_SECONDS = 0.3
#: Sizes of last pages remembered; further targets simply wait for the settle time.
MAX_SIZES = 20_000
_UNKNOWN = 1 << 30

Commit = Callable[[TargetPage], Awaitable[None]]


@dataclass(slots=True)
class _Waiting:
    page: TargetPage
    done: asyncio.Future[None]
    timer: asyncio.TimerHandle | None = None


@dataclass(slots=True)
class Assembly:
    """The pages that are not complete yet, by (instance, time); lives in the event loop's thread."""

    _waiting: dict[tuple[str, int], _Waiting] = field(default_factory=dict)
    _sizes: dict[str, int] = field(default_factory=dict)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def add(self, page: TargetPage, commit: Commit) -> asyncio.Future[None]:
        """Add one piece; the future ends when `commit` has taken its page."""
        key = (page.target.instance, page.time_ms)
        found = self._waiting.get(key)
        loop = asyncio.get_running_loop()
        if found is None:
            found = self._waiting[key] = _Waiting(page, loop.create_future())
            found.timer = loop.call_later(SETTLE_SECONDS, self._flush, key, commit)
        else:
            found.page.samples.update(page.samples)
            found.page.up = page.up if page.up is not None else found.page.up
        for other in [other for other in self._waiting if other[0] == key[0] and other[1] < key[1]]:
            self._flush(other, commit)
        if len(found.page.samples) >= self._sizes.get(key[0], _UNKNOWN) or found.page.up == 0:
            self._flush(key, commit)
        return found.done

    def _flush(self, key: tuple[str, int], commit: Commit) -> None:
        found = self._waiting.pop(key, None)
        if found is None:
            return
        if found.timer is not None:
            found.timer.cancel()
        if found.page.samples and (len(self._sizes) < MAX_SIZES or key[0] in self._sizes):
            self._sizes[key[0]] = len(found.page.samples)
        task = asyncio.get_running_loop().create_task(self._commit(found, commit))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _commit(self, found: _Waiting, commit: Commit) -> None:
        try:
            await commit(found.page)
            found.done.set_result(None)
        except Exception as error:  # noqa: BLE001  # whoever waits for the page is told, whatever it was
            found.done.set_exception(error)

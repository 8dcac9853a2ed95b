"""What the agent's tests share: a clock that only moves when told, a server that answers from a dictionary."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agent.encode import Batch, Encoder
from agent.fetch import Answer
from agent.spool import Spool
from signals.errors import UnreachableError
from signals.readings import HistogramIncrement, Increments
from signals.records import OK, Identity, Scrape, Target

START_NS = 1_800_000_000_000_000_000


@dataclass(slots=True)
class FakeClock:
    """Wall and monotonic time in one."""

    seconds: float = 0.0

    def wall_ns(self) -> int:
        return START_NS + int(self.seconds * 1e9)

    def monotonic(self) -> float:
        return self.seconds

    def wall(self) -> float:
        return self.wall_ns() / 1e9


@dataclass(slots=True)
class FakeWeb:
    """A fetcher that answers from what a test put there; `asked` remembers every request."""

    answers: dict[str, object] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    posted: list[tuple[str, Mapping[str, str], bytes]] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)
    renewed: int = 0

    def get(self, url: str, headers: Mapping[str, str], limit_seconds: float, limit_bytes: int) -> Answer:
        self.asked.append(url)
        self.headers.append(headers)
        return self._answer(url)

    def post(self, url: str, headers: Mapping[str, str], body: bytes, limit_seconds: float) -> Answer:
        self.posted.append((url, headers, body))
        return self._answer(url)

    def renew(self) -> None:
        self.renewed += 1

    def _answer(self, url: str) -> Answer:
        found = self.answers.get(url, Answer(404, {}, b"not found", 0.01))
        if isinstance(found, list):
            found = found.pop(0) if len(found) > 1 else found[0]
        if isinstance(found, Exception):
            raise found
        if isinstance(found, str):
            return Answer(200, {}, found.encode(), 0.01)
        assert isinstance(found, Answer)
        return found


def unreachable(url: str = "http://x") -> UnreachableError:
    return UnreachableError(f"{url}: refused", url=url)


def new_spool(folder: Path, clock: FakeClock, lost: Callable[[str, int], None] | None = None, **more: object) -> Spool:
    settings = {"max_bytes": 10_000_000, "max_age_seconds": 86_400.0, **more}
    return Spool(
        folder / "spool.db",
        "node",
        str(more.pop("epoch", "e1")),
        int(str(settings["max_bytes"])),
        float(str(settings["max_age_seconds"])),
        clock.wall_ns,
        lost or (lambda _reason, _batches: None),
    ).open()


FIRST = Identity("a", "e", 1)


def some_scrape(identity: Identity = FIRST, state: str = OK) -> Scrape:
    """Return a scrape with one of everything."""
    increments = Increments(
        "m",
        "both",
        {("queue_depth", ()): 3.0, ("running", ()): None},
        {("prompt_tokens", ()): 12.0, ("finished_by_reason", (("reason", "stop"),)): 2.0},
        (HistogramIncrement("ttft_seconds", (), (0.1, 1.0), (1, 2, 3), 9.5, 6),),
    )
    target = Target("i", "vllm", "m", None, "0.32", "v1", "pool", "eu", "host", ("GPU-1", "GPU-2"))
    return Scrape(identity, target, START_NS, START_NS - 5, state, (increments,), facts={"block_tokens": "16"})


def encoded(scrape: Scrape) -> Batch:
    return Encoder().scrape(scrape)

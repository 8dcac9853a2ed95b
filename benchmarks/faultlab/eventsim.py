"""A second kind of instance, simulated from event to event: one prompt at a time, shared decoding, memory that grows.

It shares nothing with the first laboratory's step loop, so that explanations cannot live off that one's habits.
Times are seconds, memory is tokens.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf

#: While a prompt is computed, decoding goes on at this part of its pace (chunks share the step).
BESIDE_PROMPT = 0.55
#: A prompt takes memory for this many tokens of its answer on admission.
RESERVE = 32


@dataclass(slots=True)
class Job:
    """One request as an instance sees it; NaN = has not happened."""

    number: int
    arrival: float
    tokens: int
    cached: int
    output: int
    admitted: float = float("nan")
    first: float = float("nan")
    finished: float = float("nan")
    made: float = 0.0
    start: float = 0.0


@dataclass(slots=True)
class Instance:
    """An instance: `prompt_rate` tokens a second, a token each `base + share · running` seconds, seats, memory.

    `slowness(t)` and `drag(t)` multiply the time of prompts and of tokens (infinite = stands still); `bends` are the
    moments at which they, or the limits, change.
    """

    name: str
    prompt_rate: float
    base: float
    share: float
    seats: Callable[[float], int]
    memory: Callable[[float], float]
    slowness: Callable[[float], float]
    drag: Callable[[float], float]
    bends: list[float] = field(default_factory=list)
    patience: float = 90.0


@dataclass(slots=True)
class Page:
    """One scrape: gauges and running totals."""

    t: float
    queue: int
    running: int
    usage: float
    totals: tuple[float, ...]


#: Running totals of a page, in order.
TOTALS = (
    "prompt_tokens", "prefix_query_tokens", "prefix_hit_tokens", "generation_tokens", "preemptions", "first_tokens",
    "finished", "queue_seconds_sum", "prefill_seconds_sum",
)  # fmt: skip


class Run:
    """Runs one instance over its jobs until `end`; `pages` fills up, the jobs carry their times."""

    def __init__(self, instance: Instance, jobs: list[Job], end: float, every: float, offset: float) -> None:
        self.instance, self.jobs, self.end, self.every = instance, jobs, end, every
        self.next_page = offset
        self.t = self.work = self.used = 0.0
        self.waiting: deque[Job] = deque()
        self.prompts: deque[Job] = deque()
        self.prompt_left = 0.0
        self.decoding: list[tuple[float, int, Job]] = []
        self.pages: list[Page] = []
        self.sums = dict.fromkeys(TOTALS, 0.0)
        self.bends = deque(sorted(instance.bends))

    def __call__(self) -> list[Page]:
        coming = 0
        while self.t < self.end:
            pace, prompt_pace = self._paces()
            moment = min(self.next_page, self.bends[0] if self.bends else inf, self.end)
            if coming < len(self.jobs):
                moment = min(moment, self.jobs[coming].arrival)
            if self.prompts and prompt_pace > 0:
                moment = min(moment, self.t + self.prompt_left / prompt_pace)
            if self.decoding and pace > 0:
                moment = min(moment, self.t + max(self.decoding[0][0] - self.work, 0.0) / pace)
                room = self.instance.memory(self.t) - self.used
                if len(self.decoding) > 1:
                    moment = min(moment, self.t + max(room, 0.0) / (pace * len(self.decoding)) + 1e-6)
            self._advance(max(moment - self.t, 0.0), pace, prompt_pace)
            self.t = moment
            while self.bends and self.bends[0] <= self.t:
                self.bends.popleft()
            while coming < len(self.jobs) and self.jobs[coming].arrival <= self.t:
                self.waiting.append(self.jobs[coming])
                coming += 1
            self._finish()
            self._evict()
            self._admit()
            if self.t >= self.next_page:
                self._page()
        return self.pages

    def _paces(self) -> tuple[float, float]:
        """Return (tokens a second of each decoding request, prompt tokens a second)."""
        one = self.instance
        slow, drag = one.slowness(self.t), one.drag(self.t)
        prompt = 0.0 if slow == inf or not self.prompts else one.prompt_rate / slow
        pace = 0.0 if drag == inf else 1.0 / ((one.base + one.share * len(self.decoding)) * drag)
        return pace * (BESIDE_PROMPT if self.prompts else 1.0), prompt

    def _advance(self, seconds: float, pace: float, prompt_pace: float) -> None:
        self.work += pace * seconds
        self.used += pace * seconds * len(self.decoding)
        self.sums["generation_tokens"] += pace * seconds * len(self.decoding)
        self.prompt_left -= prompt_pace * seconds

    def _finish(self) -> None:
        if self.prompts and self.prompt_left <= 1e-6:
            job = self.prompts.popleft()
            if job.first != job.first:
                job.first = self.t
                self.sums["first_tokens"] += 1
                self.sums["prompt_tokens"] += job.tokens
            job.start = self.work - job.made
            heapq.heappush(self.decoding, (job.start + job.output, job.number, job))
            self._next_prompt()
        while self.decoding and self.decoding[0][0] <= self.work + 1e-6:
            job = heapq.heappop(self.decoding)[2]
            job.finished = self.t
            self.used -= job.tokens + job.output + RESERVE
            self.sums["finished"] += 1
            self.sums["queue_seconds_sum"] += job.admitted - job.arrival
            self.sums["prefill_seconds_sum"] += job.first - job.admitted
        self.used = max(self.used, 0.0)

    def _evict(self) -> None:
        while self.used > self.instance.memory(self.t) and len(self.decoding) > 1:
            youngest = max(self.decoding, key=lambda item: item[2].admitted)
            self.decoding.remove(youngest)
            heapq.heapify(self.decoding)
            job = youngest[2]
            job.made = self.work - job.start
            self.used -= job.tokens + job.made + RESERVE
            self.waiting.appendleft(job)
            self.sums["preemptions"] += 1

    def _admit(self) -> None:
        one = self.instance
        while self.waiting and len(self.decoding) + len(self.prompts) < one.seats(self.t):
            job = self.waiting[0]
            need = job.tokens + job.made + RESERVE
            if self.used + need > one.memory(self.t) and self.decoding:
                return
            self.waiting.popleft()
            if self.t - job.arrival > one.patience and job.made == 0:
                continue
            if job.admitted != job.admitted:
                job.admitted = self.t
                self.sums["prefix_query_tokens"] += job.tokens
                self.sums["prefix_hit_tokens"] += job.cached
            self.used += need
            self.prompts.append(job)
            if len(self.prompts) == 1:
                self._next_prompt()

    def _next_prompt(self) -> None:
        if self.prompts:
            job = self.prompts[0]
            self.prompt_left = max(job.tokens - (job.cached if job.made == 0 else 0) + job.made, 1.0)

    def _page(self) -> None:
        running = len(self.decoding) + len(self.prompts)
        usage = min(self.used / self.instance.memory(self.t), 1.0)
        self.pages.append(Page(self.t, len(self.waiting), running, usage, tuple(self.sums[name] for name in TOTALS)))
        self.next_page += self.every

"""Runs jobs on their schedules in one thread; a job that fails is counted, told in the log, and run again."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from signals.errors import SloscopeError

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Job:
    """One thing to do every so many seconds; `run` raises what went wrong."""

    name: str
    every_seconds: float
    run: Callable[[], None]


@dataclass(slots=True)
class JobReport:
    """How a job fares: runs, failures, seconds of the last run, and the last error."""

    runs: int = 0
    failures: int = 0
    seconds: float = 0.0
    finished_at: float | None = None
    error: str | None = None


@dataclass(slots=True)
class Scheduler:
    """One thread that runs each job when it is due; a late job is run once, not caught up."""

    jobs: Sequence[Job]
    monotonic: Callable[[], float] = time.monotonic
    #: Called once no job runs any more.
    ended: Callable[[], None] = lambda: None
    reports: dict[str, JobReport] = field(default_factory=dict)
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __post_init__(self) -> None:
        self.reports = {job.name: JobReport() for job in self.jobs}

    def start(self) -> None:
        """Begin; the first round comes after each job's own interval."""
        self._thread = threading.Thread(target=self._loop, name="sloscope-jobs", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End after the running job."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=30.0)
        self.ended()

    def run_once(self, job: Job) -> None:
        """Run one job and keep its report; only defects of ours are logged with their traceback."""
        report = self.reports[job.name]
        started = self.monotonic()
        try:
            job.run()
            report.error = None
        except SloscopeError as error:
            report.failures += 1
            report.error = error.message
            log.warning("job %s: %s", job.name, error.message)
        except Exception as error:  # a defect in one job must not stop the others
            report.failures += 1
            report.error = f"{type(error).__name__}: {error}"
            log.exception("job %s has a defect", job.name)
        report.runs += 1
        report.finished_at = self.monotonic()
        report.seconds = report.finished_at - started

    def _loop(self) -> None:
        due = {job.name: self.monotonic() + job.every_seconds for job in self.jobs}
        while not self._stop.is_set():
            now = self.monotonic()
            for job in self.jobs:
                if due[job.name] <= now and not self._stop.is_set():
                    self.run_once(job)
                    due[job.name] = max(due[job.name] + job.every_seconds, self.monotonic())
            nearest = min(due.values(), default=now + 1.0)
            self._stop.wait(min(1.0, max(0.05, nearest - self.monotonic())))

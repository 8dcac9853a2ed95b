"""Jobs run when they are due; one that fails is counted, told, and run again, and stops no other."""

from __future__ import annotations

import threading

import pytest

from collector.jobs.scheduler import Job, Scheduler
from signals.errors import StoreError


def test_a_job_that_fails_is_counted_and_the_others_go_on(caplog: pytest.LogCaptureFixture) -> None:
    moments = iter(range(100))
    done: list[str] = []

    def refuse() -> None:
        raise StoreError("the disk is full")

    def break_down() -> None:
        raise ZeroDivisionError("a defect")

    jobs = (Job("refuses", 1.0, refuse), Job("breaks", 1.0, break_down), Job("works", 1.0, lambda: done.append("x")))
    scheduler = Scheduler(jobs, lambda: float(next(moments)))
    for job in jobs * 2:
        scheduler.run_once(job)
    reports = scheduler.reports
    assert [(reports[name].runs, reports[name].failures) for name in reports] == [(2, 2), (2, 2), (2, 0)]
    assert reports["refuses"].error == "the disk is full"
    assert reports["breaks"].error == "ZeroDivisionError: a defect"
    assert (reports["works"].error, reports["works"].seconds, done) == (None, 1.0, ["x", "x"])
    assert "job breaks has a defect" in caplog.text


def test_an_error_is_forgotten_when_the_job_works_again() -> None:
    failing = [True]

    def run() -> None:
        if failing.pop():
            raise StoreError("busy")
        failing.append(False)

    job = Job("j", 1.0, run)
    scheduler = Scheduler((job,))
    scheduler.run_once(job)
    assert scheduler.reports["j"].error == "busy"
    failing.append(False)
    scheduler.run_once(job)
    assert (scheduler.reports["j"].error, scheduler.reports["j"].failures) == (None, 1)


def test_the_thread_runs_what_is_due_until_it_is_stopped() -> None:
    often, once = threading.Semaphore(0), threading.Event()
    scheduler = Scheduler((Job("often", 0.001, often.release), Job("never", 3_600.0, once.set)))
    scheduler.start()
    assert all(often.acquire(timeout=10.0) for _ in range(3))
    scheduler.stop()
    assert not once.is_set()
    assert scheduler.reports["often"].runs >= 3 and scheduler.reports["never"].runs == 0

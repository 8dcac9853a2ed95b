"""The process that learns forecasts gives what learning here gives, ends with its owner, is replaced when it dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import numpy as np
import pytest

from analytics.forecast import Keeper, default
from collector.jobs.worker import Worker, fitted

TIMES = np.datetime64("2026-05-01", "us") + np.arange(3 * 144) * np.timedelta64(600, "s")
VALUES = np.random.default_rng(3).gamma(9.0, 1.0, len(TIMES)) * (1.5 + np.sin(np.arange(len(TIMES)) / 144 * 2 * np.pi))


@pytest.fixture
def worker() -> Iterator[Worker]:
    found = Worker()
    yield found
    found.stop()


def test_learning_elsewhere_is_learning_here_and_a_dead_process_is_replaced(worker: Worker) -> None:
    here = fitted(default(600), TIMES, VALUES).predict(12)
    assert np.array_equal(worker.learn(default(600), TIMES, VALUES).predict(12), here)
    (first,) = worker.pids()
    os.kill(first, signal.SIGKILL)
    assert np.array_equal(worker.learn(default(600), TIMES, VALUES).predict(12), here)
    assert np.array_equal(worker.learn(default(600), TIMES, VALUES).predict(12), here)
    assert worker.pids() not in ([], [first])


def test_a_worker_ends_when_its_owner_is_killed() -> None:
    owner = (
        "import time\n"
        "from analytics.forecast import default\n"
        "from collector.jobs.worker import Worker\n"
        "from tests.unit.collector.jobs.test_worker import TIMES, VALUES\n"
        "if __name__ == '__main__':\n"
        "    worker = Worker()\n"
        "    worker.learn(default(600), TIMES[:50], VALUES[:50])\n"
        "    print(worker.pids()[0], flush=True)\n"
        "    time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", owner], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        process.kill()
    deadline = time.monotonic() + 20.0
    while _runs(pid):
        assert time.monotonic() < deadline, "the worker outlived its owner"
        time.sleep(0.05)


def test_a_keeper_has_its_forecasters_learnt_where_it_is_told() -> None:
    from datetime import UTC, datetime

    asked = []

    def learn(forecaster, times, values):  # type: ignore[no-untyped-def]  # as `fitted`
        asked.append(len(times))
        return fitted(forecaster, times, values)

    keeper = Keeper(lambda: default(600), learn=learn)
    now = datetime(2026, 5, 4, tzinfo=UTC)
    keeper.forecaster("a", now, TIMES, VALUES)
    keeper.forecaster("a", now, TIMES, VALUES)
    assert asked == [len(TIMES)]


def _runs(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:  # noqa: PTH123
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False

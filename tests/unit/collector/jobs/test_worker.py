"""The process that learns forecasts gives what learning here gives, ends with its owner, is replaced when it dies."""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np

from analytics.forecast import Keeper, default
from collector.jobs.worker import fitted

TIMES = np.datetime64("2026-05-01", "us") + np.arange(3 * 144) * np.timedelta64(600, "s")
VALUES = np.random.default_rng(3).gamma(9.0, 1.0, len(TIMES)) * (1.5 + np.sin(np.arange(len(TIMES)) / 144 * 2 * np.pi))


#: A worker's process begins with its owner's main module: tests give it owners whose main module is theirs alone.
REPLACED = """
import os, signal
import numpy as np
from analytics.forecast import default
from collector.jobs.worker import Worker, fitted
from tests.unit.collector.jobs.test_worker import TIMES, VALUES
if __name__ == "__main__":
    worker = Worker()
    here = fitted(default(600), TIMES, VALUES).predict(12)
    assert np.array_equal(worker.learn(default(600), TIMES, VALUES).predict(12), here)
    (first,) = worker.pids()
    os.kill(first, signal.SIGKILL)
    assert np.array_equal(worker.learn(default(600), TIMES, VALUES).predict(12), here)
    assert np.array_equal(worker.learn(default(600), TIMES, VALUES).predict(12), here)
    assert worker.pids() not in ([], [first])
    worker.stop()
    print("done")
"""


def test_learning_elsewhere_is_learning_here_and_a_dead_process_is_replaced() -> None:
    done = subprocess.run([sys.executable, "-c", REPLACED], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "done\n", done.stderr
    assert "died" in done.stderr


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

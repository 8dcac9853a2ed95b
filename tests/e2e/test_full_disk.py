"""A disk that fills or refuses: what was acknowledged stays, senders are told, and all goes on when there is room."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from agent.encode import Encoder, seal
from collector.store.store import Store
from collector.store.transaction import RESERVE_BYTES
from signals.errors import StoreError
from tests.e2e.test_collector import HEADERS, PATIENCE, rows, serving
from tests.support.scrapes import busy

pytestmark = pytest.mark.e2e
EACH = 40
MIB = 1024 * 1024


def send(url: str, number: int) -> httpx.Response:
    encoder = Encoder()
    scrapes = [busy(sequence, f"engine-{sequence % 7}") for sequence in range(number * EACH, (number + 1) * EACH)]
    body = seal([encoder.scrape(scrape) for scrape in scrapes])
    return httpx.post(f"{url}/v1/metrics", content=body, headers=HEADERS, timeout=60)


def checks(url: str) -> dict[str, str]:
    return {check["name"]: check["status"] for check in httpx.get(f"{url}/readyz", timeout=60).json()["checks"]}


def until_ready(url: str) -> None:
    end = time.monotonic() + PATIENCE
    while "fail" in checks(url).values() and time.monotonic() < end:
        time.sleep(0.1)
    assert httpx.get(f"{url}/readyz").status_code == 200


def test_files_that_may_not_grow_are_told_and_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    db = tmp_path / "x.duckdb"
    with serving(db) as (process, url):
        assert send(url, 0).status_code == 200
        largest = max(path.stat().st_size for path in tmp_path.iterdir())
        _, hard = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (largest + 60_000, hard))
        stored, refused = 1, send(url, 1)
        while refused.status_code == 200:
            stored += 1
            refused = send(url, stored)
        assert refused.status_code == 503
        problem = refused.json()
        assert problem["title"] == "Store unavailable" and "File too large" in problem["detail"]
        assert str(tmp_path) not in refused.text and refused.headers["retry-after"] == "30"
        assert checks(url)["writer"] == "fail"
        assert httpx.post(f"{url}/api/v1/sql", content="select count(*) as n from engine_samples").json()["rows"] == [
            {"n": stored * EACH}
        ]
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (hard, hard))
        until_ready(url)
        assert send(url, stored).status_code == 200
        assert send(url, 0).status_code == 200, "known already"
        process.terminate()
        assert process.wait(60) == 0
    assert rows(db) == (stored + 1) * EACH


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, a little larger than the reserve."""
    disk = tmp_path / "disk"
    disk.mkdir()
    size = f"size={RESERVE_BYTES // MIB + 256}m"
    tool = shutil.which("mount")
    done = tool and subprocess.run(
        [tool, "-t", "tmpfs", "-o", size, "tmpfs", str(disk)], capture_output=True, check=False
    )
    if not done or done.returncode:
        pytest.skip("mounting a file system is not permitted here")
    try:
        yield disk
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=False)


def _fill(path: Path, leave: int) -> None:
    found = os.statvfs(path.parent)
    with path.open("wb") as file:
        for _ in range((found.f_bavail * found.f_frsize - leave) // MIB):
            file.write(bytes(MIB))


def test_a_full_disk_is_told_before_it_is_full_and_the_server_goes_on_when_there_is_room(small_disk: Path) -> None:
    db, filler = small_disk / "x.duckdb", small_disk / "filler"
    with serving(db) as (process, url):
        assert send(url, 0).status_code == 200
        _fill(filler, RESERVE_BYTES // 2)
        refused = send(url, 1)
        assert refused.status_code == 503 and "the disk is full" in refused.json()["detail"]
        assert refused.headers["retry-after"] == "30"
        found = checks(url)
        assert (found["disk"], found["writer"], found["store"]) == ("fail", "fail", "ok")
        assert httpx.get(f"{url}/api/v1/status").status_code == 200
        filler.unlink()
        until_ready(url)
        assert send(url, 1).status_code == 200
        process.terminate()
        assert process.wait(60) == 0
    assert rows(db) == 2 * EACH


def test_a_read_only_disk_is_read_and_a_server_says_why_it_cannot_start(small_disk: Path) -> None:
    db = small_disk / "x.duckdb"
    with Store.open(db) as store:
        store.commit([busy(1)])
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    command = ["import sys; from collector.cli.main import main; sys.exit(main(sys.argv[1:]))"]
    asked = subprocess.run(
        [
            sys.executable,
            "-c",
            *command,
            "sql",
            "--db",
            str(db),
            "-o",
            "csv",
            "select count(*) as n from engine_samples",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (asked.returncode, asked.stdout.split()) == (0, ["n", "1"])
    served = subprocess.run(
        [sys.executable, "-c", *command, "serve", "--db", str(db), "--port", "0"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert served.returncode == 1
    assert "Read-only file system" in served.stderr and "Traceback" not in served.stderr


def test_a_checkpoint_that_failed_costs_nothing(tmp_path: Path) -> None:
    db = tmp_path / "x.duckdb"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Store.open(db) as store:
        store.confine([])
        assert store.commit([busy(number) for number in range(200)]) == [True] * 200
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
        try:
            with pytest.raises(StoreError, match="no checkpoint was made"):
                store.checkpoint()
            with pytest.raises(StoreError):
                store.commit([busy(200)])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert store.commit([busy(number) for number in range(202)]) == [False] * 200 + [True] * 2
        store.checkpoint()
        with store.cursor() as cursor:
            assert cursor.execute("select count(*) from engine_samples").fetchall() == [(202,)]
            assert cursor.execute("select current_setting('lock_configuration')").fetchall() == [(True,)]

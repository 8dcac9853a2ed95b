"""One transaction, all or nothing; and whether the disk has room for one, said before DuckDB finds out."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import duckdb

from signals.errors import StoreError

#: Kept free for what makes room: twice what a checkpoint rewrites. DuckDB gives a file up when a checkpoint fails.
RESERVE_BYTES = 128 * 1024 * 1024
#: When a sender may try again after the disk refused.
RETRY_SECONDS = 30
_PLACE = re.compile(r' "[^"]*"')


@contextmanager
def transaction(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Begin, then commit what the block did, or take it back; the error that counts is the first."""
    connection.execute("begin")
    try:
        yield
        connection.execute("commit")
    except BaseException:
        take_back(connection)
        raise


def take_back(connection: duckdb.DuckDBPyConnection) -> None:
    """Roll back; a commit that failed has ended its transaction itself."""
    with suppress(duckdb.Error):
        connection.execute("rollback")


def require_room(path: Path | None) -> None:
    """Raise StoreError when the disk of `path` has less than the reserve; what is stored stays as it is."""
    if path is None:
        return
    free = shutil.disk_usage(path.resolve().parent).free
    if free < RESERVE_BYTES:
        raise StoreError(
            f"the disk is full: {free / 1e6:.0f} MB are free, {RESERVE_BYTES / 1e6:.0f} MB are kept for checkpoints; "
            "send again when there is room",
            retry_after=RETRY_SECONDS,
        )


def refusal(what: str, error: Exception) -> StoreError:
    """Return the StoreError that says what was not done and why, without the place on the server's disk."""
    return StoreError(f"{what}: {_PLACE.sub('', str(error).splitlines()[0])}", retry_after=RETRY_SECONDS)

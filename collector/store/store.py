"""The DuckDB file: one process owns it, commits batches exactly once and hands out cursors; knows no HTTP.

A commit is one transaction: ledger rows and data together, or nothing. Request halves are committed first and joined
afterwards (`join`), so that an acknowledgement never waits for the other half.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

import duckdb
import pyarrow as pa

from collector.store.archive import archive_days
from collector.store.batch import Batch, ColumnBatch
from collector.store.far import STEP, far_pieces
from collector.store.instances import one_row_each
from collector.store.intake import Intake, quality_row
from collector.store.join import Joiner
from collector.store.known import table_types
from collector.store.latency_counts import LatencyCounts
from collector.store.ledger import read_ledger, tidy_ledger
from collector.store.migrate import migrate, migrations, schema_version
from collector.store.open import STORAGE_VERSION, confine, open_writable
from collector.store.reader import DuckReader
from collector.store.rows import arrow
from collector.store.sqlfiles import sql
from collector.store.tables import import_table
from collector.store.transaction import refusal, require_room, take_back, transaction
from signals.errors import StoreError
from signals.records import Identity

PACKAGE = "collector.store"
#: After these nothing can be done with a connection: a checkpoint failed, or the file could not be opened again.
GIVEN_UP = (duckdb.FatalException, duckdb.ConnectionException)


class Store:
    """A sloscope database. All writes go through one lock; every reader takes its own cursor."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, path: Path | None, again: Callable[[], duckdb.DuckDBPyConnection]
    ) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._again = again
        self._folders: tuple[str, ...] | None = None
        self._load(connection)

    def _load(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Take a connection and read what is kept in memory."""
        self._connection = connection
        self._types = table_types(connection)
        self._ledger = read_ledger(connection)
        self._intake = Intake(connection)
        self._counts = LatencyCounts(connection)
        self._joiner = Joiner(connection, self._counts, "team_alias")
        self._given_up = False

    @classmethod
    def open(
        cls,
        path: str | Path | None,
        *,
        memory_limit: str | None = None,
        threads: int | None = None,
        upgrade: bool = False,
    ) -> Store:
        """Open or create the file at `path` (None: in memory).

        Raise StoreError when another process owns it, when its schema is older (unless `upgrade`) or newer.
        """
        target = None if path is None else Path(path)
        again = partial(open_writable, target, memory_limit, threads)
        connection = again()
        try:
            version = schema_version(connection)
            if 0 < version < migrations()[-1].number and not upgrade:
                raise StoreError(
                    f"{target} has schema {version}, this sloscope writes {migrations()[-1].number}: "
                    f"run `sloscope migrate --db {target}`"
                )
            migrate(connection)
            return cls(connection, target, again)
        except BaseException:
            connection.close()
            raise

    def commit(self, batches: Sequence[Batch]) -> list[bool]:
        """Store batches that are not yet known, in one transaction; return which were new; StoreError stores none."""
        with self._writing():
            fresh: list[Batch] = []
            identities: set[Identity] = set()
            new = []
            for batch in batches:
                if isinstance(batch, ColumnBatch):
                    columns = self._unknown_rows(batch, identities)
                    new.append(columns is not None)
                    if columns is not None:
                        fresh.append(columns)
                    continue
                known = self._ledger.known(batch.identity) or batch.identity in identities
                new.append(not known)
                if not known:
                    identities.add(batch.identity)
                    fresh.append(batch)
            if fresh:
                self._write(fresh, identities)
            return new

    def _write(self, batches: Sequence[Batch], identities: set[Identity]) -> None:
        require_room(self.path)
        try:
            ready = self._intake.sort(batches, identities)
        except BaseException:
            self._reread()
            raise
        cursor = self._connection
        cursor.execute("begin")
        try:
            for table, found in ready.rows.tables.items():
                self._insert(table, found)
            for table, incoming in ready.columns.items():
                self._insert_arrow(table, incoming)
            halves = self._joiner.halves.add(ready.halves)
            for table_batch in ready.tables:
                import_table(cursor, table_batch, self._counts)
            if ready.lives:
                self._merge_lives(ready.lives)
            cursor.execute("commit")
        except (duckdb.Error, pa.ArrowException) as error:
            self._rollback()
            raise refusal(f"nothing of {len(batches)} batches was stored", error) from error
        except BaseException:
            self._rollback()
            raise
        self._ledger.add(identities)
        self._joiner.sampled.observe(batches)
        if halves is not None:
            self._joiner.halves.hold(halves)

    def _rollback(self) -> None:
        take_back(self._connection)
        try:
            self._reread()
        except duckdb.Error:
            self._given_up = True

    def _reread(self) -> None:
        """Forget what a failed commit would have made true."""
        self._intake.reread()
        self._counts.reread()

    def _unknown_rows(self, batch: ColumnBatch, identities: set[Identity]) -> ColumnBatch | None:
        """Return the rows that are not stored yet, None when all are; note their identities."""
        kept = []
        for row, identity in enumerate(batch.identities()):
            if identity not in identities and not self._ledger.known(identity):
                identities.add(identity)
                kept.append(row)
        if not kept:
            return None
        return batch if len(kept) == len(batch) else batch.take(kept)

    def _insert(self, table: str, found: list[dict[str, object]]) -> None:
        self._insert_arrow(table, arrow(table, found, self._types[table]))

    def _insert_arrow(self, table: str, incoming: pa.Table) -> None:
        self._connection.register("incoming", incoming)
        columns = ", ".join(f'"{name}"' for name in incoming.column_names)
        statement = f"insert into stored.{table} ({columns}) select {columns} from incoming"  # noqa: S608  # own names only
        self._connection.execute(statement)
        self._connection.unregister("incoming")

    def _merge_lives(self, lives: list[dict[str, object]]) -> None:
        types = self._types["instances"]
        rows = [{name: row.get(name) for name in types} for row in one_row_each(lives)]
        incoming = arrow("instances", rows, types)
        self._connection.register("incoming_lives", incoming)
        for name in ("instances_insert", "instances_update"):
            self._connection.execute(sql(PACKAGE, name))
        self._connection.unregister("incoming_lives")

    def append(self, view: str, rows: Sequence[dict[str, object]]) -> None:
        """Add rows of a public view that jobs make (recommendations, counts, incidents), in one transaction."""
        with self._writing(f"{len(rows)} rows of {view} were not stored"):
            if rows:
                self._insert(view, list(rows))

    def run(self, package: str, names: Sequence[str], params: Mapping[str, object]) -> None:
        """Run named statements (`package`/sql/NAME.sql) in one transaction; each takes the `$params` that it names."""
        with self._writing(f"{package} {', '.join(names)}"), transaction(self._connection):
            for name in names:
                statement = sql(package, name)
                given = {key: value for key, value in params.items() if f"${key}" in statement}
                self._connection.execute(statement, given)

    def record_quality(
        self, kind: str, count: int = 1, *, source: str | None = None, example: str | None = None
    ) -> None:
        """Count something that was wrong with what came in; visible in `data_quality`."""
        with self._writing():
            self._insert("quality", [quality_row(datetime.now(UTC), source, kind, count, example)])

    def join(self) -> int:
        """Join all that is pending into requests; return the number of requests written."""
        return sum(iter(self.join_some, None))

    def join_some(self) -> int | None:
        """Join a part of what is pending, in one transaction; return the requests written, None when nothing was."""
        with self._writing("requests could not be joined"):
            return self._joiner.join_some()

    def join_far(self) -> int:
        """Join again what came since the last time and belongs to halves far from it; return the requests written.

        Such are rare, and looking for them takes seconds: that is done beside the writers, the joins between them.
        """
        written = 0
        while (after := self._joiner.far_done) < (done := self._joiner.done):
            until = min(after + STEP, done)
            with self.cursor() as cursor:
                try:
                    pieces = far_pieces(cursor, after, until)
                except duckdb.Error as error:
                    raise StoreError(f"halves far apart were not looked for: {error}") from error
            for seeds, span in pieces:
                with self._writing("halves far apart could not be joined"):
                    written += self._joiner.join_far(seeds, span)
            with self._writing("halves far apart will be looked for again"):
                self._joiner.far_until(until)
        return written

    def reader(self) -> DuckReader:
        """Return a Reader over the public views."""
        return DuckReader(self._connection)

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """Return a cursor of its own (a snapshot per statement); the caller closes it."""
        return self._connection.cursor()

    def write_lock(self) -> threading.RLock:
        """Return the lock that every writer holds; jobs that write take it."""
        return self._lock

    def backup(self, target: Path) -> None:
        """Copy everything into a new file; readers and writers go on meanwhile. StoreError when the disk refuses."""
        with self._lock:
            source = self._connection.execute("select current_database()").fetchall()[0][0]
            place = str(target).replace("'", "''")
            try:
                self._connection.execute(f"attach '{place}' as copy_of_store (storage_version '{STORAGE_VERSION}')")
                self._connection.execute(f'copy from database "{source}" to copy_of_store')
            except duckdb.Error as error:
                raise StoreError(f"no backup was made: {error}") from error
            finally:
                self._connection.execute("detach database if exists copy_of_store")

    def archive(self, folder: Path, until: Mapping[str, datetime]) -> int:
        """Move whole days of the views in `until` that end before its times into Parquet files under `folder`."""
        with self._writing("nothing was archived"):
            return sum(archive_days(self._connection, folder, view, time) for view, time in until.items())

    def tidy_ledger(self, closed: datetime, remembered: datetime) -> None:
        """Keep runs of batches received before `closed` as one row; forget what timed senders sent before `remembered`.

        Whoever calls this lets no scrape of such senders in that is older.
        """
        with self._writing("the ledger could not be tidied"):
            tidy_ledger(self._connection, closed, remembered)
            self._ledger.forget_timed(round(remembered.timestamp() * 1000))

    def checkpoint(self) -> None:
        """Bring the log into the file. StoreError where the disk lacks room: DuckDB would give the file up."""
        require_room(self.path)
        with self._writing("no checkpoint was made"):
            self._connection.execute("checkpoint")

    def confine(self, folders: Sequence[Path]) -> None:
        """Let the database touch its own folder and `folders` only, and freeze its settings: no query can undo that."""
        own = [] if self.path is None else [self.path.resolve().parent]
        self._folders = tuple(str(folder.resolve()) for folder in (*own, *folders))
        with self._lock:
            confine(self._connection, self._folders)

    @contextmanager
    def _writing(self, what: str = "nothing was stored") -> Iterator[None]:
        """Hold the lock; turn what the database says into StoreError; open a file anew that DuckDB gave up."""
        with self._lock:
            if self._given_up:
                self._revive()
            try:
                yield
            except (duckdb.Error, pa.ArrowException) as error:
                self._given_up = isinstance(error, GIVEN_UP)
                raise refusal(what, error) from error
            except StoreError as error:
                self._given_up = self._given_up or isinstance(error.__cause__, GIVEN_UP)
                raise

    def _revive(self) -> None:
        """Close the file and open it again, which brings back all that was committed; StoreError while it cannot be."""
        require_room(self.path)
        self._connection.close()
        connection = self._again()
        try:
            if self._folders is not None:
                confine(connection, self._folders)
            self._load(connection)
        except (duckdb.Error, StoreError) as error:
            connection.close()
            raise refusal("the database is being opened again", error) from error

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

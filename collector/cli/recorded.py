"""A Reader over a running collector, for what is computed here from its records; never opens the store's file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from collector.cli.place import UrlPlace, one_place, resolve
from collector.store.open import open_readonly
from collector.store.reader import Columns, DuckReader, Reader, as_datetime
from signals.errors import NotEnoughDataError


@dataclass(frozen=True, slots=True)
class RemoteReader:
    """Reads the statements `newest` and `replay_*` through the server's `/api/v1/replay/`."""

    place: UrlPlace

    def columns(self, name: str, **params: object) -> Columns:
        table = self.place.arrow(f"/api/v1/replay/{name.removeprefix('replay_')}", params)
        arrays = {column: table.column(column).to_numpy() for column in table.column_names}
        return {
            column: array.astype("datetime64[us]") if array.dtype.kind == "M" else array
            for column, array in arrays.items()
        }

    def newest(self) -> datetime | None:
        found = self.columns("newest")["ts"]
        return None if len(found) == 0 or found[0] != found[0] else as_datetime(found[0])


@dataclass(frozen=True, slots=True)
class Where:
    """What the options --db, --url, --token-file and --now say."""

    db: Path | None
    url: str | None = None
    token_file: Path | None = None
    now: datetime | None = None


@contextmanager
def recorded_in(where: Where) -> Iterator[tuple[Reader, datetime]]:
    """Yield a reader over a store file or a server, and the moment that answers are given for.

    A file that a server has open is read through that server.
    """
    db, url = one_place(where.db, where.url)
    place = resolve(db, url, where.token_file, where.now)
    if isinstance(place, UrlPlace):
        reader = RemoteReader(place)
        yield reader, _moment(where.now if db is None else where.now or reader.newest(), db)
        return
    assert db is not None
    with open_readonly(db) as connection:
        local = DuckReader(connection)
        yield local, _moment(where.now or local.newest(), db)


def _moment(found: datetime | None, db: Path | None) -> datetime:
    if found is None and db is not None:
        raise NotEnoughDataError(f"{db} holds no request and no sample yet")
    return found or datetime.now(UTC)

"""Reads the table of counts that `explain --counts` localises in: dimension columns and four columns of counts."""

from __future__ import annotations

from pathlib import Path

import duckdb

from collector.store.reader import DuckReader
from signals.errors import InputError

COUNTS = ("n_before", "bad_before", "n_during", "bad_during")


def explain_counts_file(path: Path) -> dict[str, object]:
    """Return the segments, best first. InputError names the file and the missing column."""
    from collector.answers.explain import explain_counts
    from collector.sqlguard.formats import plain

    reader = "read_parquet" if path.suffix == ".parquet" else "read_csv"
    try:
        with duckdb.connect() as connection:
            columns = DuckReader(connection).run(f"select * from {reader}($path)", {"path": str(path)})  # noqa: S608
    except duckdb.Error as error:
        raise InputError(f"{path}: cannot be read: {str(error).splitlines()[0]}") from error
    missing = [name for name in COUNTS if name not in columns]
    if missing:
        raise InputError(f"{path}: needs the columns {', '.join(COUNTS)}; missing: {', '.join(missing)}")
    return {key: plain(value) for key, value in explain_counts(columns).items()}

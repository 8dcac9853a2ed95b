"""Files in the import format: what is missing stays missing, and a wrong value is named."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from collector.importer.tables import read_table
from signals.errors import InputError


def test_nan_and_infinity_in_a_parquet_file_are_missing_values(tmp_path: Path) -> None:
    path = tmp_path / "requests.parquet"
    columns = {
        "ts": pa.array([1_000_000, 2_000_000, 3_000_000], pa.timestamp("us", "UTC")),
        "model": ["org/m"] * 3,
        "e2e_seconds": [1.5, float("nan"), float("inf")],
        "cached_tokens": [16.0, float("nan"), 0.0],
        "status": ["ok", "ok", "error"],
    }
    pq.write_table(pa.table(columns), path)
    table = read_table(path, "requests", None).table
    assert table.column("e2e_seconds").to_pylist() == [1.5, None, None]
    assert table.column("cached_tokens").to_pylist() == [16, None, 0]


def test_a_status_that_nothing_counts_is_an_error_with_the_nearest_one(tmp_path: Path) -> None:
    path = tmp_path / "requests.csv"
    path.write_text("ts,model,status\n2026-03-01T00:00:00Z,m,abortd\n")
    with pytest.raises(InputError, match="status 'abortd' is unknown; did you mean 'aborted'"):
        read_table(path, "requests", None)


def test_a_value_that_is_no_time_is_named_with_its_column(tmp_path: Path) -> None:
    path = tmp_path / "requests.csv"
    rows = "\n".join(f"2026-03-01T00:00:{second:02}Z,m,ok" for second in range(3))
    path.write_text(f"ts,model,status\n{rows}\nyesterday,m,ok\n")
    with pytest.raises(InputError, match="yesterday"):
        read_table(path, "requests", None)


def test_a_tenant_named_none_stays_a_tenant(tmp_path: Path) -> None:
    path = tmp_path / "requests.csv"
    path.write_text("ts,model,status,tenant\n2026-03-01T05:30:00+05:30,m,ok,None\n2026-03-01T00:00:01Z,m,ok,\n")
    table = read_table(path, "requests", None).table
    assert table.column("tenant").to_pylist() == ["None", None]
    assert table.column("ts").to_pylist()[0].isoformat() == "2026-03-01T00:00:00+00:00"

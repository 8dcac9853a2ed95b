"""Import, backup and migrate: into a file, into a server, twice, and with nothing to recognise."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from collector.cli.main import main
from collector.cli.place import FilePlace
from collector.security.tokens import entry, new_token
from collector.store.store import Store
from signals.errors import StoreError
from tests.support.loopback import served

COUNTS = "select (select count(*) from requests) as requests, (select count(*) from arrivals) as arrivals"


def _files(folder: Path) -> list[str]:
    requests, trace = folder / "requests.csv", folder / "burst.csv"
    lines = [f"2026-05-01T00:00:{n:02d}Z,m,ok,{100 * n},0.{n:02d}" for n in range(10)]
    requests.write_text("\n".join(["ts,model,status,input_tokens,ttft_seconds", *lines]) + "\n")
    trace.write_text("t_s,model,input_tokens,output_tokens,colour\n" + "".join(f"{n},m,5,6,red\n" for n in range(7)))
    return [str(requests), str(trace)]


def _counts(db: Path) -> dict[str, int]:
    rows = FilePlace(db, None).sql(COUNTS, 1)["rows"]
    assert isinstance(rows, list)
    return dict(rows[0])


def test_importing_twice_stores_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    db = tmp_path / "x.duckdb"
    argv = ["import", "--db", str(db), "--start", "2026-05-01T00:00:00Z", "-o", "json", *_files(tmp_path)]
    assert main(argv) == 0
    shown = capsys.readouterr()
    first = json.loads(shown.out)
    assert (first["stored"], first["known"], first["faults"]) == (2, 0, [])
    assert "columns left out: colour" in shown.err
    assert main(argv) == 0
    again = json.loads(capsys.readouterr().out)
    assert (again["stored"], again["known"]) == (0, 2)
    assert _counts(db) == {"requests": 10, "arrivals": 7}


def test_an_upload_stores_what_the_file_import_stores(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    db, files = tmp_path / "x.duckdb", _files(tmp_path)
    folder = tmp_path / "second"
    folder.mkdir()
    (folder / "requests.csv").write_text("ts,model,status\n2026-05-02T00:00:00Z,m,error\n")
    with served(db) as url:
        argv = ["import", "--url", url, "--start", "2026-05-01T00:00:00Z", "-o", "json", *files]
        assert main([*argv, str(folder / "requests.csv")]) == 0
        shown = capsys.readouterr()
        assert json.loads(shown.out)["stored"] == 3
        assert "columns left out: colour" in shown.err
        assert main(["import", "--db", str(db), "--start", "2026-05-01T00:00:00Z", *files]) == 0
        assert "0 batches stored, 2 already known" in capsys.readouterr().out
    assert _counts(db) == {"requests": 11, "arrivals": 7}


def test_what_nobody_recognises_is_listed_and_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stranger = tmp_path / "notes.txt"
    stranger.write_text("hello")
    db = tmp_path / "x.duckdb"
    assert main(["import", "--db", str(db), str(stranger)]) == 1
    assert f"{stranger}: not recognised" in capsys.readouterr().err
    assert main(["import", "--db", str(db), str(stranger), _files(tmp_path)[0]]) == 0
    assert f"{stranger}: not recognised" in capsys.readouterr().err
    with served(db) as url:
        assert main(["import", "--url", url, str(stranger)]) == 1
        assert "notes.txt: not recognised" in capsys.readouterr().err


def test_a_recognised_file_that_the_store_refuses_is_a_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> list[bool]:
        raise StoreError("nothing was stored: no space left on the device")

    monkeypatch.setattr(Store, "commit", refuse)
    assert main(["import", "--db", str(tmp_path / "x.duckdb"), _files(tmp_path)[0]]) == 1
    assert "no space left on the device" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        (["import", "--db", "a.duckdb", "prometheus://127.0.0.1:1?start=0&end=60"], 4, "does not answer"),
        (["import", "x.csv"], 2, "--db FILE or --url URL"),
        (["import", "--db", "a", "--url", "http://127.0.0.1:1", "x.csv"], 2, "exclude each other"),
        (["import", "--db", "a.duckdb", "nowhere.csv"], 1, "nowhere.csv: no such file"),
        (["import", "--url", "http://127.0.0.1:1", "nowhere.csv"], 1, "nowhere.csv: no such file"),
        (["import", "--url", "http://127.0.0.1:1", "prometheus://p:9090?start=0&end=1"], 2, "use --db FILE"),
        (["import", "--url", "http://127.0.0.1:1", __file__], 4, "does not answer"),
        (["import", "--db", "a.duckdb"], 2, "PATHS"),
    ],
)
def test_an_import_that_cannot_begin_says_why(
    argv: list[str], code: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert main(argv) == code
    assert said in capsys.readouterr().err


def test_a_backup_holds_everything_also_while_served(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    db = tmp_path / "x.duckdb"
    assert main(["import", "--db", str(db), *_files(tmp_path)]) == 0
    assert main(["backup", "--db", str(db), str(tmp_path / "one.duckdb")]) == 0
    with served(db):
        assert main(["backup", "--db", str(db), str(tmp_path / "two.duckdb")]) == 0
    assert _counts(tmp_path / "one.duckdb") == _counts(tmp_path / "two.duckdb") == _counts(db)
    assert main(["backup", "--db", str(db), str(tmp_path / "one.duckdb")]) == 2
    assert "exists already" in capsys.readouterr().err


def test_a_backup_of_a_guarded_server_takes_a_token(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    db, tokens, secret = tmp_path / "x.duckdb", tmp_path / "tokens.yaml", tmp_path / "secret"
    secret.write_text(new_token())
    tokens.write_text("tokens:\n" + entry("ops", secret.read_text(), ("admin",)))
    argv = ["backup", "--db", str(db), str(tmp_path / "copy.duckdb")]
    Store.open(db).close()
    with served(db, tokens=str(tokens)):
        assert main(argv) == 1
        assert "token" in capsys.readouterr().err
        assert main([*argv, "--token-file", str(secret)]) == 0
    assert (tmp_path / "copy.duckdb").exists()


def test_migrate_leaves_a_new_store_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    db = tmp_path / "x.duckdb"
    Store.open(db).close()
    assert main(["migrate", "--db", str(db)]) == 0
    assert "newest schema" in capsys.readouterr().out


def test_an_older_store_names_the_command_that_mends_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    db = tmp_path / "x.duckdb"
    with Store.open(db) as store:
        cursor = store.cursor()
        cursor.execute("drop view ttft_p99")
        cursor.execute("delete from stored.migrations where number > 1")
        cursor.close()
    assert main(["import", "--db", str(db), _files(tmp_path)[0]]) == 1
    assert f"sloscope migrate --db {db}" in capsys.readouterr().err
    assert main(["status", "--db", str(db)]) == 1
    assert f"sloscope migrate --db {db}" in capsys.readouterr().err

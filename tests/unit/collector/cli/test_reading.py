"""Each command that asks prints the contract's JSON and ends with the contract's exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from collector.cli.main import main
from collector.cli.place import FilePlace
from collector.store.store import Store
from tests.support.recordings import session_store

MODEL = "tiny-llama"
STATUS_KEYS = {
    "objective", "metric", "model", "tenant", "length_bucket", "window", "target", "good", "bad", "excluded",
    "unattributed_bad", "ratio", "coverage", "budget_remaining", "burn_rate", "state", "p50", "p99", "p99_interval",
}  # fmt: skip
SCALE_KEYS = {
    "pool", "model", "role", "region", "current", "actual", "unschedulable", "proposed", "action", "because", "binding",
    "forecast_horizon_seconds", "cold_start_seconds", "demand", "capacity_per_instance", "what_if", "cost_per_hour",
    "confidence", "valid_until",
}  # fmt: skip


@pytest.fixture(scope="module")
def db() -> str:
    return str(session_store())


def _json(capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    found = json.loads(capsys.readouterr().out)
    assert isinstance(found, dict)
    return found


def test_status_is_violated_in_the_recorded_burst(db: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "--db", db, "-o", "json"]) == 3
    (row,) = _json(capsys)["objectives"]
    assert row.keys() >= STATUS_KEYS
    assert row["burn_rate"].keys() >= {"5m", "1h"}
    assert row["state"] in {"burning", "exhausted"} and row["model"] == MODEL
    low, high = row["p99_interval"]
    assert low <= row["p99"] and (high is None or row["p99"] <= high)


def test_status_as_table_and_csv_holds_the_same_row(db: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "--db", db]) == 3
    table = capsys.readouterr().out
    assert main(["status", "--db", db, "-o", "csv"]) == 3
    head, line = capsys.readouterr().out.splitlines()
    assert MODEL in table and MODEL in line
    assert head.startswith("objective,")


def test_explain_names_a_cause_with_evidence_and_a_next_step(db: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--db", db, "-o", "json"]) == 0
    answer = _json(capsys)
    assert answer.keys() >= {"verdict", "onset", "stage", "change_kind", "causes", "missing"}
    assert answer["verdict"] in {"explained", "inconclusive", "no_significant_change"}
    for cause in answer["causes"]:
        assert cause.keys() >= {"cause", "confidence", "segment", "evidence", "contra", "related_change", "next_step"}
    assert main(["explain", "--db", db]) == 0
    assert "verdict:" in capsys.readouterr().out


def test_explain_with_counts_needs_no_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "counts.csv"
    rows = [f"{tenant},{region},1000,10,1000,{bad}" for tenant, region, bad in
            [("acme", "eu", 500), ("acme", "us", 500), ("globex", "eu", 10), ("globex", "us", 10)]]  # fmt: skip
    path.write_text("\n".join(["tenant,region,n_before,bad_before,n_during,bad_during", *rows]) + "\n")
    assert main(["explain", "--counts", str(path), "-o", "json"]) == 0
    best = _json(capsys)["segments"][0]
    assert best.keys() >= {"segment", "score", "excess", "recall", "precision", "kind"}
    assert best["segment"] == {"tenant": "acme"}


def test_counts_without_a_column_name_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "counts.csv"
    path.write_text("tenant,n_before,bad_before,n_during\nacme,1,1,1\n")
    assert main(["explain", "--counts", str(path)]) == 1
    assert "missing: bad_during" in capsys.readouterr().err


def test_scale_that_wants_to_act_exits_with_pending(db: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["scale", "--db", db, "-o", "json"])
    (row,) = _json(capsys)["recommendations"]
    assert row.keys() >= SCALE_KEYS
    assert code == (3 if row["action"] in {"up", "down"} else 0)


def test_sql_answers_columns_rows_and_whether_they_were_cut(db: str, capsys: pytest.CaptureFixture[str]) -> None:
    query = "select request_id, ts from requests order by ts"
    assert main(["sql", "--db", db, "-o", "json", "--max-rows", "2", query]) == 0
    shown = capsys.readouterr()
    answer = json.loads(shown.out)
    assert answer["columns"] == ["request_id", "ts"] and len(answer["rows"]) == 2 and answer["truncated"] is True
    assert answer["rows"][0]["ts"].endswith("Z")
    assert "more rows" in shown.err


def test_sql_without_rows_still_prints_the_header_of_csv(db: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sql", "--db", db, "-o", "csv", "select 1 as a, 2 as b where false"]) == 0
    assert capsys.readouterr().out == "a,b\n"


@pytest.mark.parametrize(
    "query",
    ["select * from stored.requests", "delete from requests", "select * from read_csv('x')", "select 1; select 2"],
)
def test_sql_that_is_no_harmless_question_is_refused(db: str, query: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sql", "--db", db, query]) == 1
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err.startswith("sloscope: ")


def test_one_request_has_a_timeline_an_instance_and_peers(db: str, capsys: pytest.CaptureFixture[str]) -> None:
    rows = FilePlace(Path(db), None).sql("select request_id, trace_id from requests where queue_seconds > 1", 1)["rows"]
    assert isinstance(rows, list)
    assert main(["request", rows[0]["request_id"], "--db", db, "-o", "json"]) == 0
    answer = _json(capsys)
    assert answer.keys() >= {"request", "timeline", "instance", "peers", "trace_id"}
    assert answer["trace_id"] == rows[0]["trace_id"]
    assert [step["stage"] for step in answer["timeline"]][:2] == ["queue", "prefill"]
    assert main(["request", rows[0]["request_id"], "--db", db]) == 0
    assert "peers in the minute" in capsys.readouterr().out


def test_now_moves_the_answer_into_the_past(db: str, capsys: pytest.CaptureFixture[str]) -> None:
    first = FilePlace(Path(db), None).sql("select min(ts) as ts from engine_samples", 1)["rows"]
    assert isinstance(first, list)
    assert main(["status", "--db", db, "-o", "json", "--now", str(first[0]["ts"])]) == 0
    rows = _json(capsys)["objectives"]
    assert all(row["good"] + row["bad"] == 0 for row in rows)


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        (["explain", "--model", "tiny-lama"], 2, "did you mean 'tiny-llama'"),
        (["request", "no-such-id"], 2, "no-such-id"),
        (["plan", "autoscalling"], 2, "did you mean 'autoscaling'"),
        (["plan", "autoscaling", "--set", "requests_per_second"], 2, "INPUT=VALUE"),
        (["status", "--now", "tomorrow"], 2, "RFC 3339"),
        (["compare", "a", "b", "--by", "instance"], 2, "vllm-live"),
        (["scale", "--pool", "nowhere"], 2, "nowhere"),
    ],
)
def test_a_wrong_word_is_a_usage_error_that_names_the_right_one(
    db: str, argv: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([argv[0], "--db", db, *argv[1:]]) == code
    shown = capsys.readouterr()
    assert shown.out == "" and said in shown.err


def test_a_model_must_be_named_when_there_are_several(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "requests.csv"
    table.write_text("ts,model,status\n2026-05-01T00:00:00Z,a,ok\n2026-05-01T00:00:01Z,b,ok\n")
    db = str(tmp_path / "x.duckdb")
    assert main(["import", "--db", db, str(table)]) == 0
    assert main(["explain", "--db", db]) == 2
    assert "--model is needed: the store knows a, b" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["status", "scale", "cost"])
def test_an_empty_store_says_so(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    db = tmp_path / "empty.duckdb"
    Store.open(db).close()
    assert main([command, "--db", str(db)]) == 1
    assert "holds no request and no sample yet" in capsys.readouterr().err


def test_a_store_that_is_not_there_names_the_command_that_makes_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "--db", "nowhere.duckdb"]) == 1
    assert "sloscope import --db nowhere.duckdb" in capsys.readouterr().err


def test_a_file_that_is_no_store_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.duckdb"
    path.write_text("no database")
    assert main(["status", "--db", str(path)]) == 1
    assert "cannot be opened" in capsys.readouterr().err


def test_an_unknown_command_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["statuss"]) == 2
    assert main([]) in {0, 2}
    assert main(["--version"]) == 0
    assert main(["status", "--help"]) == 0

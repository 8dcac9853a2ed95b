"""A real collector process over loopback: it serves, survives being killed, and stops gracefully."""

from __future__ import annotations

import os
import shutil
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from agent.encode import encode_scrape, export_request
from collector.security.tokens import entry, new_token
from collector.serve import serving_url
from collector.store.store import Store
from signals.errors import StoreError
from tests.support.scrapes import busy

pytestmark = pytest.mark.e2e
HEADERS = {"content-type": "application/x-protobuf"}
#: How long a start may take on a busy machine.
PATIENCE = 60.0


@contextmanager
def serving(db: Path, *flags: str, env: dict[str, str] | None = None) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    command = [sys.executable, "-c", "import sys; from collector.cli.main import main; sys.exit(main(sys.argv[1:]))"]
    process = subprocess.Popen(
        [*command, "serve", "--db", str(db), "--port", "0", "--jobs", "false", *flags],
        env={**os.environ, **(env or {})},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        until = time.monotonic() + PATIENCE
        while (url := serving_url(db)) is None and time.monotonic() < until and process.poll() is None:
            time.sleep(0.05)
        assert url is not None, (
            process.stderr.read().decode() if process.stderr and process.poll() is not None else "late"
        )
        yield process, url
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(30)
        if process.stderr:
            process.stderr.close()


def post(url: str, sequence: int) -> httpx.Response:
    body = export_request([encode_scrape(busy(sequence))])
    return httpx.post(f"{url}/v1/metrics", content=body, headers=HEADERS, timeout=30)


def rows(db: Path) -> int:
    with Store.open(db) as store, store.cursor() as cursor:
        row = cursor.execute("select count(*) from engine_samples").fetchone()
    assert row is not None
    return int(row[0])


def test_what_was_acknowledged_survives_kill_9_and_a_resend_stores_nothing(tmp_path: Path) -> None:
    db = tmp_path / "x.duckdb"
    with serving(db) as (process, url):
        assert [post(url, sequence).status_code for sequence in range(5)] == [200] * 5
        process.send_signal(signal.SIGKILL)
        process.wait(30)
    (tmp_path / "x.duckdb.serving").unlink()
    with serving(db) as (process, url):
        assert [post(url, sequence).status_code for sequence in range(3, 7)] == [200] * 4
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    assert rows(db) == 7


def test_the_file_is_taken_while_it_is_served_and_free_afterwards(tmp_path: Path) -> None:
    db = tmp_path / "x.duckdb"
    with serving(db) as (process, url):
        assert httpx.get(f"{url}/readyz").json()["status"] == "ready"
        with pytest.raises(StoreError, match="another process"):
            Store.open(db)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    assert serving_url(db) is None
    assert rows(db) == 0


def test_a_token_is_needed_and_never_logged(tmp_path: Path) -> None:
    token = new_token()
    tokens = tmp_path / "tokens.yaml"
    tokens.write_text("tokens:\n" + entry("ops", token, ("admin",)))
    db = tmp_path / "x.duckdb"
    with serving(db, "--tokens", str(tokens)) as (process, url):
        assert httpx.post(f"{url}/api/v1/sql", content="select 1").status_code == 401
        headers = {"authorization": f"Bearer {token}"}
        assert httpx.post(f"{url}/api/v1/sql", content="select 1", headers=headers).status_code == 200
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        assert process.stderr is not None
        assert token not in process.stderr.read().decode()
    assert token not in (tmp_path / "x.duckdb.audit.jsonl").read_text()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_it_serves_tls_when_it_has_a_certificate(tmp_path: Path) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=127.0.0.1",
         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(cert)],
        check=True, capture_output=True,
    )  # fmt: skip
    with serving(tmp_path / "x.duckdb", "--tls-cert", str(cert), "--tls-key", str(key)) as (_, url):
        assert url.startswith("https://")
        trusting = ssl.create_default_context(cafile=str(cert))
        assert httpx.get(f"{url}/healthz", verify=trusting).json() == {"status": "ok"}
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{url}/healthz")


def test_a_slow_client_is_let_go(tmp_path: Path) -> None:
    import socket

    with serving(tmp_path / "x.duckdb", "--body-seconds", "0.3") as (_, url):
        host, port = url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=20) as client:
            client.sendall(
                b"POST /v1/metrics HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\n"
                b"Content-Length: 99\r\n\r\nab"
            )
            assert b" 408 " in client.recv(4096)


def test_a_backup_lands_in_allowed_folders_only_and_can_be_opened(tmp_path: Path) -> None:
    db = tmp_path / "served" / "x.duckdb"
    other = tmp_path / "backups"
    db.parent.mkdir()
    other.mkdir()
    with serving(db, "--allowed-dirs", str(other)) as (_, url):
        assert post(url, 1).status_code == 200
        for target in (db.parent / "copy.duckdb", other / "copy.duckdb"):
            assert httpx.post(f"{url}/api/v1/backup", json={"target": str(target)}, timeout=60).status_code == 200
            assert rows(target) == 1
        refused = httpx.post(f"{url}/api/v1/backup", json={"target": str(tmp_path / "copy.duckdb")}, timeout=60)
        assert (refused.status_code, refused.headers["content-type"]) == (422, "application/problem+json")

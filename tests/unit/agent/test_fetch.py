"""Requests within their limits: redirects, slow and huge bodies, secrets, certificates."""

from __future__ import annotations

import gzip
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from agent.config import Tls
from agent.fetch import Credentials, Fetcher
from agent.httpserver import Request, Response, Server, serve
from signals.errors import ConfigError, TooLargeError, UnreachableError


@pytest.fixture
def heard() -> list[Request]:
    return []


@pytest.fixture
def server(heard: list[Request]) -> Iterator[Server]:
    def answer(request: Request) -> Response:
        heard.append(request)
        if request.path == "/moved":
            return Response(307, b"", headers={"Location": "/metrics/"})
        if request.path == "/elsewhere":
            return Response(307, b"", headers={"Location": f"http://localhost:{port[0]}/metrics/"})
        if request.path == "/round":
            return Response(302, b"", headers={"Location": "/round"})
        if request.path == "/bomb":
            return Response(200, gzip.compress(b"x" * 5_000_000), headers={"Content-Encoding": "gzip"})
        return Response(200, b"page")

    port: list[int] = []
    found = serve(("127.0.0.1", 0), answer, 1000, "pages")
    port.append(found.port)
    yield found
    found.stop()


def get(server: Server, path: str, headers: dict[str, str] | None = None, fetcher: Fetcher | None = None) -> bytes:
    url = f"http://127.0.0.1:{server.port}{path}"
    return (fetcher or Fetcher()).get(url, headers or {}, 5.0, 100_000).body


def test_a_page_that_moved_is_followed(server: Server, heard: list[Request]) -> None:
    assert get(server, "/moved") == b"page"
    assert [request.path for request in heard][-1] == "/metrics/"


def test_credentials_do_not_go_along_to_another_host(server: Server, heard: list[Request]) -> None:
    get(server, "/moved", {"Authorization": "Bearer s"})
    assert heard[-1].headers["authorization"] == "Bearer s"
    get(server, "/elsewhere", {"Authorization": "Bearer s"})
    assert heard[-1].path == "/metrics/"
    assert "authorization" not in heard[-1].headers


def test_a_circle_ends(server: Server) -> None:
    with pytest.raises(UnreachableError):
        get(server, "/round")


def test_a_small_body_that_becomes_a_huge_one_is_over_the_limit(server: Server) -> None:
    with pytest.raises(TooLargeError):
        get(server, "/bomb")


def test_a_body_that_trickles_is_cut_off_at_the_deadline(server: Server) -> None:
    times = count(0.0, 10.0)
    with pytest.raises(UnreachableError, match="in time"):
        get(server, "/metrics", fetcher=Fetcher(clock=lambda: next(times)))


def test_nobody_there_is_said_in_one_line(server: Server) -> None:
    with pytest.raises(UnreachableError, match=r"^http://127\.0\.0\.1:9/: Connection refused$"):
        Fetcher().get("http://127.0.0.1:9/", {}, 1.0, 1)


def test_a_connection_is_kept_until_it_is_renewed(server: Server) -> None:
    fetcher = Fetcher()
    for _ in range(2):
        assert get(server, "/metrics", fetcher=fetcher) == b"page"
    fetcher.renew()
    assert get(server, "/metrics", fetcher=fetcher) == b"page"


def test_a_secret_that_cannot_be_read_is_an_error_without_the_secret(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="gone"):
        Credentials.of(str(tmp_path / "gone"), None).headers()


def certificate(folder: Path, name: str) -> tuple[str, str]:
    """Return a self-signed certificate and its key."""
    cert, key = folder / f"{name}.pem", folder / f"{name}.key"
    openssl = shutil.which("openssl")
    assert openssl is not None
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"]
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-x509"]
    command = [openssl, "req", *curve, *subject, "-keyout", str(key), "-out", str(cert)]
    subprocess.run(command, check=True, capture_output=True)
    return str(cert), str(key)


@pytest.mark.filterwarnings("ignore:Unverified HTTPS request")
@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_certificates_are_checked_on_both_sides_and_read_again_when_replaced(tmp_path: Path) -> None:
    theirs, ours, wrong = (certificate(tmp_path, name) for name in ("server", "client", "other"))
    server = serve(("127.0.0.1", 0), lambda _request: Response(200, b"page"), 1000, "tls")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*theirs)
    context.load_verify_locations(ours[0])
    context.verify_mode = ssl.CERT_REQUIRED
    server._server.socket = context.wrap_socket(server._server.socket, server_side=True)
    url = f"https://127.0.0.1:{server.port}/"
    ca = tmp_path / "ca.pem"
    shutil.copy(theirs[0], ca)
    fetcher = Fetcher(Tls(str(ca), *ours))
    assert fetcher.get(url, {}, 5.0, 1000).body == b"page"
    for tls in (Tls(wrong[0], *ours), Tls(str(ca), *wrong), Tls(str(ca))):
        with pytest.raises(UnreachableError):
            Fetcher(tls).get(url, {}, 5.0, 1000)
    assert Fetcher(Tls(None, *ours, insecure_skip_verify=True)).get(url, {}, 5.0, 1000).body == b"page"
    ca.write_text(Path(wrong[0]).read_text() + "\n")
    with pytest.raises(UnreachableError):
        fetcher.get(url, {}, 5.0, 1000)
    server.stop()

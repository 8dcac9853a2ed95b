"""Tokens are known by hash, carry scopes, rotate by file, and never show up in messages."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from collector.security.tokens import ANYONE, SCOPES, TokenFile, digest, entry, new_token, parse_tokens
from signals.errors import ConfigError, PermissionDeniedError

NOW = datetime(2026, 5, 1, tzinfo=UTC)


def file_with(path: Path, *entries: str) -> TokenFile:
    path.write_text("tokens:\n" + "".join(entries))
    return TokenFile(path, lambda: NOW)


def test_without_a_file_anyone_may_do_everything() -> None:
    assert TokenFile(None, lambda: NOW).allow(None, "admin") is ANYONE


def test_a_token_allows_its_scopes_and_no_others(tmp_path: Path) -> None:
    token = new_token()
    tokens = file_with(tmp_path / "t.yaml", entry("rack-7", token, ("ingest",)))
    assert tokens.allow(f"Bearer {token}", "ingest").name == "rack-7"
    with pytest.raises(PermissionDeniedError, match="sql is needed"):
        tokens.allow(f"Bearer {token}", "sql")


def test_admin_includes_every_scope(tmp_path: Path) -> None:
    token = new_token()
    tokens = file_with(tmp_path / "t.yaml", entry("root", token, ("admin",)))
    assert all(tokens.allow(f"bearer {token}", scope) for scope in SCOPES)


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer ", "Basic abc", "Bearer wrong", "Bearer slo_é"])
def test_a_missing_or_unknown_token_is_401(tmp_path: Path, header: str | None) -> None:
    tokens = file_with(tmp_path / "t.yaml", entry("a", new_token(), ("read",)))
    with pytest.raises(PermissionDeniedError) as caught:
        tokens.allow(header, "read")
    assert caught.value.data["status"] == 401
    assert "wrong" not in caught.value.message


def test_an_expired_token_is_401(tmp_path: Path) -> None:
    token = new_token()
    tokens = file_with(tmp_path / "t.yaml", entry("a", token, ("read",)) + "    expires: 2026-04-30T00:00:00Z\n")
    with pytest.raises(PermissionDeniedError, match="expired"):
        tokens.allow(f"Bearer {token}", "read")


def test_two_tokens_of_one_name_are_valid_while_one_replaces_the_other(tmp_path: Path) -> None:
    old, new = new_token(), new_token()
    path = tmp_path / "t.yaml"
    tokens = file_with(path, entry("a", old, ("read",)), entry("a", new, ("read",)))
    assert tokens.allow(f"Bearer {old}", "read")
    assert tokens.allow(f"Bearer {new}", "read")
    path.write_text("tokens:\n" + entry("a", new, ("read",)))
    os.utime(path, ns=(1, 1))
    with pytest.raises(PermissionDeniedError):
        tokens.allow(f"Bearer {old}", "read")


def test_a_file_that_breaks_keeps_the_last_good_tokens_and_says_so(tmp_path: Path) -> None:
    token = new_token()
    path = tmp_path / "t.yaml"
    tokens = file_with(path, entry("a", token, ("read",)))
    path.write_text("tokens: [")
    os.utime(path, ns=(1, 1))
    assert tokens.allow(f"Bearer {token}", "read")
    assert tokens.fault is not None


def test_all_faults_are_listed_and_no_value_is_repeated() -> None:
    text = "tokens:\n  - {nam: a, sha256: slo_secretsecret, scopes: [raed]}\n  - 3\n"
    with pytest.raises(ConfigError) as caught:
        parse_tokens(text, "t.yaml")
    faults = " ".join(caught.value.faults)
    assert len(caught.value.faults) == 5
    assert "did you mean 'name'" in faults
    assert "did you mean 'read'" in faults
    assert "secretsecret" not in str(caught.value)


def test_the_file_holds_hashes_only() -> None:
    token = new_token()
    assert token not in entry("a", token, ("read",))
    assert digest(token) in entry("a", token, ("read",))

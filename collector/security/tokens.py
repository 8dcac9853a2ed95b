"""Bearer tokens with scopes, stored hashed in a file that is re-read when it changes; never holds a token itself.

The file is YAML, outside the served database:

    tokens:
      - name: rack-7
        sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
        scopes: [ingest]
        expires: 2027-01-01T00:00:00Z

To rotate, add a second entry of the same name, hand out the new token, remove the first entry. Tokens are 256 random
bits, so that a plain SHA-256 of them cannot be searched.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import yaml

from signals.errors import ConfigError, PermissionDeniedError, nearest

INGEST, READ, SQL, OPERATE, ADMIN = "ingest", "read", "sql", "operate", "admin"
SCOPES = (INGEST, READ, SQL, OPERATE, ADMIN)
_KEYS = ("name", "sha256", "scopes", "expires")
TOKEN_PREFIX = "slo_"  # noqa: S105  # lets secret scanners recognise a leaked one; no secret itself


@dataclass(frozen=True, slots=True)
class Principal:
    """Who asks: a token's name and scopes; `admin` includes every scope."""

    name: str
    scopes: frozenset[str]
    expires: datetime | None = None

    def may(self, scope: str) -> bool:
        return scope in self.scopes or ADMIN in self.scopes


#: Whoever reaches a server without tokens, which binds loopback only.
ANYONE = Principal("anyone", frozenset(SCOPES))


def new_token() -> str:
    """Return a fresh random token of 256 bits."""
    return TOKEN_PREFIX + secrets.token_urlsafe(32)


def digest(token: str) -> str:
    """Return what the token file holds of a token."""
    return hashlib.sha256(token.encode()).hexdigest()


def entry(name: str, token: str, scopes: tuple[str, ...]) -> str:
    """Return the lines that add a token to the file."""
    return f"  - name: {name}\n    sha256: {digest(token)}\n    scopes: [{', '.join(scopes)}]\n"


def parse_tokens(text: str, where: str) -> dict[str, Principal]:
    """Return hash → principal; ConfigError lists every fault and never repeats a value that could be a secret."""
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError:
        raise ConfigError(f"{where} is no YAML") from None
    if not isinstance(content, Mapping) or not isinstance(content.get("tokens"), list):
        raise ConfigError(f"{where}: expected a list under the key tokens")
    faults: list[str] = []
    found: dict[str, Principal] = {}
    for number, item in enumerate(content["tokens"], 1):
        place = f"{where}: token {number}"
        if not isinstance(item, Mapping):
            faults.append(f"{place}: expected name, sha256 and scopes")
            continue
        hash_, principal, own = _entry(item, place)
        faults += own
        found[hash_] = principal
    if faults:
        raise ConfigError(f"{where} has faults:", faults)
    return found


def _entry(item: Mapping[object, object], place: str) -> tuple[str, Principal, list[str]]:
    faults = [f"{place}: unknown key {key!r}{nearest(str(key), _KEYS)}" for key in item if key not in _KEYS]
    name, hash_, scopes, expires = (item.get(key) for key in _KEYS)
    if not name:
        faults.append(f"{place}: name is missing")
    text = str(hash_ or "").lower()
    if len(text) != 64 or not set(text) <= set("0123456789abcdef"):
        faults.append(f"{place}: sha256 must be 64 hex digits, the hash of the token and never the token")
    if not isinstance(scopes, list) or not scopes:
        faults.append(f"{place}: scopes must be a list of {', '.join(SCOPES)}")
        scopes = []
    faults += [
        f"{place}: unknown scope {scope!r}{nearest(str(scope), SCOPES)}" for scope in scopes if scope not in SCOPES
    ]
    moment = None
    if expires is not None:
        moment = _moment(expires)
        if moment is None:
            faults.append(f"{place}: expires must be a time such as 2027-01-01T00:00:00Z")
    return text, Principal(str(name), frozenset(str(scope) for scope in scopes), moment), faults


def _moment(value: object) -> datetime | None:
    try:
        found = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


@dataclass(slots=True)
class TokenFile:
    """The tokens of one file. A file that becomes unusable keeps the last good state and says so in `fault`."""

    path: Path | None
    clock: Callable[[], datetime]
    fault: str | None = None
    _seen: tuple[int, int] | None = None
    _tokens: Mapping[str, Principal] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.path is not None:
            self._read()

    def principal(self, authorization: str | None) -> Principal:
        """Return who holds the bearer token; PermissionDeniedError (401) without a valid one."""
        if self.path is None:
            return ANYONE
        self._refresh()
        kind, _, token = (authorization or "").partition(" ")
        if kind.lower() != "bearer" or not token.strip():
            raise PermissionDeniedError("a bearer token is needed: Authorization: Bearer TOKEN", status=401)
        wanted = digest(token.strip())
        found = None
        for known, holder in self._tokens.items():
            if hmac.compare_digest(known, wanted):
                found = holder
        if found is None:
            raise PermissionDeniedError("the bearer token is not known", status=401)
        if found.expires is not None and found.expires <= self.clock():
            raise PermissionDeniedError(f"the token {found.name!r} expired at {found.expires.isoformat()}", status=401)
        return found

    def allow(self, authorization: str | None, scope: str) -> Principal:
        """Return who asks; PermissionDeniedError (403) when the scope is not theirs."""
        found = self.principal(authorization)
        if not found.may(scope):
            raise PermissionDeniedError(
                f"the token {found.name!r} has the scopes {', '.join(sorted(found.scopes))}; {scope} is needed",
                scope=scope,
            )
        return found

    def _refresh(self) -> None:
        assert self.path is not None
        try:
            stat = self.path.stat()
            if (stat.st_mtime_ns, stat.st_size) != self._seen:
                self._read()
            self.fault = None
        except (OSError, ConfigError) as error:
            self.fault = f"the token file could not be re-read: {error}"

    def _read(self) -> None:
        assert self.path is not None
        try:
            stat = self.path.stat()
            self._tokens = parse_tokens(self.path.read_text(encoding="utf-8"), self.path.name)
        except OSError as error:
            raise ConfigError(f"the token file {self.path} cannot be read: {error.strerror}") from error
        self._seen = (stat.st_mtime_ns, stat.st_size)

"""The errors sloscope raises, one tree; each carries the data that a program or a person needs to act.

SloscopeError
├── ConfigError          a setting is wrong: key, what was expected, the nearest valid key
├── InputError           what came in cannot be used: where (file:line, series, row) and why
│   ├── PageError        a metrics page is no metrics page
│   ├── PayloadError     an OTLP, remote-write or JSON body that cannot be decoded
│   ├── TooLargeError    over a configured limit: which, the limit, what was seen
│   └── UnknownNameError a model, pool, planner, signal or column that does not exist, with the nearest one
├── NotEnoughDataError   the question is fine, the store cannot answer it yet: what is missing
├── BlindError           a pool is not seen: no number may be given to a scaler (503, never 0)
├── StoreError           the database refuses: locked, newer, read-only, full
├── QueryRefusedError    ad-hoc SQL that the guard does not let through
├── PermissionDeniedError a token is missing or lacks the scope
├── RateLimitedError     a client asks more often than it may
└── UnreachableError     nobody answers at a URL
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches


class SloscopeError(Exception):
    """Base of all errors that sloscope raises on purpose."""

    exit_code = 1
    http_status = 500
    title = "Internal error"

    def __init__(self, message: str, **data: object) -> None:
        super().__init__(message)
        self.message = message
        self.data: Mapping[str, object] = data


class ConfigError(SloscopeError):
    """A setting is wrong. `faults` lists every fault found, not only the first."""

    exit_code = 2
    http_status = 422
    title = "Invalid configuration"

    def __init__(self, message: str, faults: Iterable[str] = (), **data: object) -> None:
        self.faults: tuple[str, ...] = tuple(faults)
        super().__init__("\n".join([message, *(f"  {fault}" for fault in self.faults)]), **data)


class InputError(SloscopeError):
    """What came in cannot be used."""

    http_status = 422
    title = "Unusable input"


class PageError(InputError):
    """A metrics page is no metrics page."""

    title = "Not a metrics page"


class PayloadError(InputError):
    """A body cannot be decoded."""

    http_status = 400
    title = "Body cannot be decoded"


class TooLargeError(InputError):
    """Over a configured limit."""

    http_status = 413
    title = "Over the limit"


class UnknownNameError(InputError):
    """A name that does not exist; the message offers the nearest one."""

    exit_code = 2
    http_status = 404
    title = "Unknown name"

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        super().__init__(f"unknown {kind} {name!r}{nearest(name, names)}", kind=kind, name=name, known=names)


class NotEnoughDataError(SloscopeError):
    """The store cannot answer yet."""

    http_status = 409
    title = "Not enough data"


class BlindError(SloscopeError):
    """A pool is not seen well enough to say a number; whoever asks must keep what is there."""

    exit_code = 1
    http_status = 503
    title = "Blind"


class StoreError(SloscopeError):
    """The database refuses."""

    http_status = 503
    title = "Store unavailable"


class QueryRefusedError(SloscopeError):
    """Ad-hoc SQL that the guard does not let through, or that ran over its limits."""

    http_status = 422
    title = "Query refused"


class PermissionDeniedError(SloscopeError):
    """A token is missing (401) or lacks the scope (403)."""

    http_status = 403
    title = "Permission denied"


class RateLimitedError(SloscopeError):
    """A client asks more often than it may; `retry_after` seconds help."""

    http_status = 429
    title = "Too many requests"


class UnreachableError(SloscopeError):
    """Nobody answers at a URL."""

    exit_code = 4
    http_status = 502
    title = "Unreachable"


def nearest(name: str, known: Iterable[str]) -> str:
    """Return "; did you mean 'x'?" for the closest known name, or the list when none is close."""
    names = list(known)
    close = get_close_matches(name, names, n=1, cutoff=0.55)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; known: {', '.join(names)}" if names else ""

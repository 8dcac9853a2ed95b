"""Reads the quantities that people write in a configuration: durations and sizes; raises ValueError with an example."""

from __future__ import annotations

import re

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_BYTES = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}


def duration(value: object) -> float:
    """Return seconds.

    >>> duration("500ms"), duration("5m"), duration(2)
    (0.5, 300.0, 2.0)
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        seconds = float(value)
    else:
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)\s*", str(value))
        if match is None:
            raise ValueError("a duration such as 5s, 500ms or 2h")
        seconds = float(match[1]) * _SECONDS[match[2]]
    if seconds < 0:
        raise ValueError("a duration of zero or more")
    return seconds


def size(value: object) -> int:
    """Return bytes.

    >>> size("10 MB"), size("1GiB"), size(512)
    (10000000, 1073741824, 512)
    """
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*", str(value))
    if match is None or match[2].lower() not in _BYTES:
        raise ValueError("a size such as 10MB or 1GiB")
    return int(float(match[1]) * _BYTES[match[2].lower()])


def address(value: object) -> tuple[str, int]:
    """Return host and port.

    >>> address("127.0.0.1:4318"), address("[::1]:80"), address(":9464")
    (('127.0.0.1', 4318), ('::1', 80), ('', 9464))
    """
    host, colon, port = str(value).rpartition(":")
    if not colon or not port.isdigit() or int(port) > 65535:
        raise ValueError("an address such as 127.0.0.1:9464")
    return host.strip("[]"), int(port)

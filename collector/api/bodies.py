"""Reads request bodies within limits on size, time and decompressed size; never keeps what a limit forbids."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from fastapi import Request
from starlette.requests import ClientDisconnect

from collector.receivers.compression import decompress
from signals.errors import PayloadError, TooLargeError

#: Of a refused body so much is taken in and thrown away: most clients read no answer before they have sent theirs.
DISCARDED_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class BodyLimits:
    """Limits of one request: bytes as sent, bytes once decompressed, seconds until the last byte."""

    sent: int
    decoded: int
    seconds: float


async def read_body(request: Request, limits: BodyLimits) -> bytes:
    """Return the body as sent. Raise TooLargeError (413) over the size, PayloadError (408) when it takes too long."""
    stated = request.headers.get("content-length")
    if stated is not None and stated.isdigit() and int(stated) > limits.sent:
        await _discard(request, int(stated), limits)
        raise TooLargeError(f"body of {stated} bytes is over the limit of {limits.sent}", limit=limits.sent)
    parts = []
    size = 0
    try:
        async with asyncio.timeout(limits.seconds):
            async for part in request.stream():
                size += len(part)
                if size > limits.sent and size > DISCARDED_BYTES:
                    break
                if size <= limits.sent:
                    parts.append(part)
                else:
                    parts.clear()
            if size > limits.sent:
                raise TooLargeError(f"body is over the limit of {limits.sent} bytes", limit=limits.sent)
    except TimeoutError:
        raise PayloadError(
            f"the body did not arrive within {limits.seconds:g} s ({size} bytes so far)", status=408
        ) from None
    return b"".join(parts)


async def _discard(request: Request, stated: int, limits: BodyLimits) -> None:
    """Take in a body that is refused, within bounds; a client that asks first (Expect) is answered at once."""
    if stated > DISCARDED_BYTES or "expect" in request.headers:
        return
    try:
        async with asyncio.timeout(limits.seconds):
            async for _ in request.stream():
                pass
    except (TimeoutError, ClientDisconnect):
        return


async def read_content(request: Request, limits: BodyLimits) -> bytes:
    """Return the body decompressed by its Content-Encoding; large ones in a thread, so that others are served."""
    body = await read_body(request, limits)
    encoding = request.headers.get("content-encoding", "")
    if len(body) < 64 * 1024:
        return decompress(body, encoding, limits.decoded)
    return await asyncio.to_thread(decompress, body, encoding, limits.decoded)

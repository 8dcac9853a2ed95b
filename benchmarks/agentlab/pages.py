"""Serves engine pages that grow with the clock, so that every token is accounted for; runs as a program of its own.

`/N/metrics` is engine N: the recorded page, whose prompt-token counter is what the clock says. `/hang/N/metrics` never
answers; `/broken/N/metrics` is HTML; `/served` tells per engine how many pages went out, and the first and last counter
of each; `/freeze` stops the counters, so that a scrape under way at the end takes nothing along.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import time
from collections import Counter
from pathlib import Path

COUNTER = re.compile(rb"^(vllm:prompt_tokens_total\{[^}]*\}) \S+$", re.MULTILINE)
#: Every busy engine's counters move: these grow too, so that no page equals the one before.
MOVING = re.compile(
    rb"^(vllm:(?:generation_tokens_total|iteration_tokens_total_(?:sum|count))\{[^}]*\}) \S+$", re.MULTILINE
)
TOKENS_PER_SECOND = 1000


class Pages:
    """The recorded page cut at its moving values."""

    def __init__(self, recorded: bytes) -> None:
        self.served: Counter[str] = Counter()
        self.last: dict[str, int] = {}
        self.first: dict[str, int] = {}
        self.began = time.monotonic()
        self.frozen: int | None = None
        self._pieces = COUNTER.split(recorded)

    def tokens(self) -> int:
        return int((time.monotonic() - self.began) * TOKENS_PER_SECOND) + 1

    def page(self, engine: str) -> bytes:
        """Return the page of an engine as the clock has it."""
        tokens = self.tokens() if self.frozen is None else self.frozen
        self.served[engine] += 1
        self.first.setdefault(engine, tokens)
        self.last[engine] = tokens
        text = self._pieces[0]
        for place in range(1, len(self._pieces), 2):
            text += self._pieces[place] + b" %d.0" % tokens + self._pieces[place + 1]
        return MOVING.sub(rb"\1 %d.0" % tokens, text)

    def answer(self, path: str) -> bytes | None:
        """Return a body, or None for a target that never answers."""
        if path == "/served":
            return json.dumps({"served": self.served, "last": self.last, "first": self.first}).encode()
        if path == "/freeze":
            self.frozen = self.tokens()
            return b"{}"
        if path.startswith("/broken/"):
            return b"<html><body>502 Bad Gateway</body></html>"
        if path.startswith("/hang/"):
            return None
        return self.page(path.split("/")[1]) if path.endswith("/metrics") else b"{}"


async def serve(port: int, pages: Pages) -> None:
    """Serve until killed."""

    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                body = pages.answer(head.split(b" ", 2)[1].decode())
                if body is None:
                    await asyncio.sleep(3600)
                    continue
                writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: %d\r\n\r\n"
                    % len(body)
                )
                writer.write(body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(client, "127.0.0.1", port, backlog=512)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("page", type=Path)
    asked = parser.parse_args()
    asyncio.run(serve(asked.port, Pages(asked.page.read_bytes())))

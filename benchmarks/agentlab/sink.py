"""Stands in for a collector: takes OTLP, keeps a ledger of identities and the sums of a counter; stores nothing else.

It answers after its books are written, as a collector does after its commit. `/books` tells what it has; the file named
on the command line survives a kill, so that a resent batch is recognised.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sqlite3
import zlib
from pathlib import Path

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import ResourceMetrics

from signals import wire

COUNTED = f"{wire.PREFIX}prompt_tokens"


class Books:
    """The ledger and the sums, in one SQLite file."""

    def __init__(self, path: Path) -> None:
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute("pragma journal_mode = wal")
        self.db.execute("pragma synchronous = off")
        self.db.execute(
            "create table if not exists ledger (agent text, epoch text, sequence int, primary key (epoch, sequence))"
        )
        self.db.execute(
            "create table if not exists sums (instance text primary key, scrapes int, good int, tokens real)"
        )
        self.db.execute("create table if not exists counts (name text primary key, n int)")

    def take(self, body: bytes) -> None:
        """Book every batch of one export request in one transaction."""
        request = ExportMetricsServiceRequest()
        request.ParseFromString(body)
        self.db.execute("begin")
        for message in request.resource_metrics:
            about = {pair.key: pair.value.string_value for pair in message.resource.attributes}
            key = (about[wire.AGENT], about[wire.EPOCH], int(about[wire.SEQUENCE]))
            if not self.db.execute("insert or ignore into ledger values (?, ?, ?)", key).rowcount:
                self._count("resent")
            elif wire.SCRAPE_STATE in about:
                self._scrape(message, about)
            else:
                for metric in message.scope_metrics[0].metrics:
                    if metric.name.endswith(".row"):
                        view = metric.name.removeprefix(wire.PREFIX).removesuffix(".row")
                        self._count(view, len(metric.gauge.data_points))
        self.db.execute("commit")

    def _scrape(self, message: ResourceMetrics, about: dict[str, str]) -> None:
        tokens = sum(
            point.as_double
            for metric in message.scope_metrics[0].metrics
            if metric.name == COUNTED
            for point in metric.sum.data_points
        )
        self.db.execute(
            "insert into sums values (?, 1, ?, ?) on conflict (instance) do update set scrapes = scrapes + 1,"
            " good = good + excluded.good, tokens = tokens + excluded.tokens",
            (about[wire.INSTANCE], int(about[wire.SCRAPE_STATE] != "failed"), tokens),
        )

    def _count(self, name: str, number: int = 1) -> None:
        self.db.execute(
            "insert into counts values (?, ?) on conflict (name) do update set n = n + excluded.n", (name, number)
        )

    def told(self) -> bytes:
        epochs = self.db.execute("select epoch, count(*), max(sequence) from ledger group by epoch").fetchall()
        sums = self.db.execute("select instance, scrapes, good, tokens from sums").fetchall()
        counts = dict(self.db.execute("select name, n from counts").fetchall())
        return json.dumps({"epochs": epochs, "sums": {row[0]: row[1:] for row in sums}, "counts": counts}).encode()


async def serve(port: int, books: Books) -> None:
    """Serve until killed."""

    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                lines = head.decode("latin-1").split("\r\n")
                fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
                body = await reader.readexactly(int(fields.get("content-length", "0")))
                answer = b""
                path = lines[0].split(" ")[1]
                if path == "/books":
                    answer = books.told()
                elif path == "/v1/metrics":
                    books.take(zlib.decompress(body, 47))
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(answer) + answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(client, "127.0.0.1", port)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("books", type=Path)
    asked = parser.parse_args()
    asyncio.run(serve(asked.port, Books(asked.books)))

"""Asks the kubelet which pod owns which GPU, over its pod-resources socket; needs neither hostPID nor a gRPC library.

The kubelet speaks gRPC: one HTTP/2 stream on a Unix socket. A single unary call without arguments needs a preface, a
SETTINGS, a HEADERS of literal fields and an empty message; of the answer only the DATA frames matter.
The messages are of k8s.io/kubelet/pkg/apis/podresources/v1/api.proto.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from agent.log import log

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RESET, SETTINGS, PING, GOAWAY, WINDOW = 0x0, 0x1, 0x3, 0x4, 0x6, 0x7, 0x8
END_STREAM, END_HEADERS, ACK = 0x1, 0x4, 0x1
LIST = "/v1.PodResourcesLister/List"
LIMIT_SECONDS, LIMIT_BYTES = 3.0, 16_000_000
GPU_RESOURCES = ("nvidia.com/gpu", "nvidia.com/mig")
#: Room for answers larger than the 64 KiB that HTTP/2 grants at first.
ROOM = 1 << 24


def pod_gpus(path: Path) -> dict[str, str]:
    """Return GPU uuid → pod name; empty where there is no kubelet or it does not answer."""
    if not path.exists():
        return {}
    try:
        answer = _ask(path)
        return {gpu: pod for pod, gpus in parse_pods(answer) for gpu in gpus}
    except (OSError, ValueError, IndexError, struct.error) as error:
        log.debug("%s: %s", path, error)
        return {}


def parse_pods(message: bytes) -> Iterator[tuple[str, list[str]]]:
    """Yield (pod, device ids) of a ListPodResourcesResponse."""
    for number, pod in fields(message):
        if number != 1 or not isinstance(pod, bytes):
            continue
        name = ""
        gpus: list[str] = []
        for place, value in fields(pod):
            if place == 1 and isinstance(value, bytes):
                name = value.decode()
            if place == 3 and isinstance(value, bytes):
                gpus.extend(_devices(value))
        if name and gpus:
            yield name, gpus


def _devices(container: bytes) -> Iterator[str]:
    for number, devices in fields(container):
        if number == 2 and isinstance(devices, bytes):
            parts = list(fields(devices))
            resource = next((value.decode() for n, value in parts if n == 1 and isinstance(value, bytes)), "")
            if resource.startswith(GPU_RESOURCES):
                yield from (value.decode() for n, value in parts if n == 2 and isinstance(value, bytes))


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield (field number, value) of a protobuf message; texts and messages are bytes."""
    place = 0
    while place < len(message):
        key, place = _varint(message, place)
        kind = key & 7
        if kind == 0:
            number, place = _varint(message, place)
            yield key >> 3, number
        elif kind == 2:
            length, place = _varint(message, place)
            if place + length > len(message):
                raise ValueError("message is cut")
            yield key >> 3, message[place : place + length]
            place += length
        elif kind in {1, 5}:
            place += 8 if kind == 1 else 4
        else:
            raise ValueError(f"unknown wire type {kind}")


def _varint(message: bytes, place: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = message[place]
        place += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, place
        shift += 7


def _ask(path: Path) -> bytes:
    """Return the message that the kubelet answers with."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as channel:
        channel.settimeout(LIMIT_SECONDS)
        channel.connect(str(path))
        settings = struct.pack(">HI", 0x4, ROOM)  # SETTINGS_INITIAL_WINDOW_SIZE
        channel.sendall(
            PREFACE
            + _frame(SETTINGS, 0, 0, settings)
            + _frame(WINDOW, 0, 0, struct.pack(">I", ROOM))
            + _frame(HEADERS, END_HEADERS, 1, _headers())
            + _frame(DATA, END_STREAM, 1, b"\0\0\0\0\0")
        )
        body = bytearray()
        for kind, flags, stream, payload in _frames(channel):
            if kind in {SETTINGS, PING} and not flags & ACK:
                with suppress(OSError):  # the answer may be complete although nobody listens any more
                    channel.sendall(_frame(kind, ACK, 0, payload if kind == PING else b""))
            elif kind in {RESET, GOAWAY}:
                raise ValueError("the kubelet refused the call")
            elif kind == DATA and stream == 1:
                body += payload
                if len(body) > LIMIT_BYTES:
                    raise ValueError("answer is too large")
            if stream == 1 and flags & END_STREAM and kind in {DATA, HEADERS}:
                break
    if len(body) < 5:
        raise ValueError("no message in the answer")
    (length,) = struct.unpack_from(">I", body, 1)
    return bytes(body[5 : 5 + length])


def _headers() -> bytes:
    """Return the request's headers as HPACK literals without Huffman coding and without indexing (RFC 7541, 6.2.2)."""
    pairs = (
        (":method", "POST"),
        (":scheme", "http"),
        (":path", LIST),
        (":authority", "localhost"),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
    )
    return b"".join(
        b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode() for name, value in pairs
    )


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def _frames(channel: socket.socket) -> Iterator[tuple[int, int, int, bytes]]:
    buffer = bytearray()
    while True:
        while len(buffer) >= 9:
            length = int.from_bytes(buffer[:3], "big")
            if length > LIMIT_BYTES:
                raise ValueError("frame is too large")
            if len(buffer) < 9 + length:
                break
            kind, flags, stream = struct.unpack_from(">BBI", buffer, 3)
            payload = bytes(buffer[9 : 9 + length])
            del buffer[: 9 + length]
            yield kind, flags, stream & 0x7FFFFFFF, payload
        chunk = channel.recv(65536)
        if not chunk:
            raise ValueError("the kubelet hung up")
        buffer += chunk

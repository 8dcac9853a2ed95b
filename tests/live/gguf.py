"""Writes a tiny Llama with random weights as a GGUF file; no download, no learning, only something that generates.

Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, version 3.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence
from pathlib import Path

U32, I32, F32, TEXT, LIST = 4, 5, 6, 8, 9
ALIGNMENT = 32
NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6
WIDTH, LAYERS, HEADS, INNER, CONTEXT = 64, 2, 4, 128, 512


def write_tiny_llama(path: Path, seed: int = 7) -> None:
    """Write the model."""
    tokens, kinds = _vocabulary()
    meta = [
        _text("general.architecture", "llama"),
        _text("general.name", "tiny-random"),
        *(
            _number(f"llama.{name}", value)
            for name, value in (
                ("context_length", CONTEXT),
                ("embedding_length", WIDTH),
                ("block_count", LAYERS),
                ("feed_forward_length", INNER),
                ("attention.head_count", HEADS),
                ("attention.head_count_kv", HEADS),
                ("rope.dimension_count", WIDTH // HEADS),
                ("vocab_size", len(tokens)),
            )
        ),
        _key("llama.attention.layer_norm_rms_epsilon", F32) + struct.pack("<f", 1e-5),
        _text("tokenizer.ggml.model", "llama"),
        _list("tokenizer.ggml.tokens", TEXT, [_string(token) for token in tokens]),
        _list("tokenizer.ggml.scores", F32, [struct.pack("<f", -float(n)) for n in range(len(tokens))]),
        _list("tokenizer.ggml.token_type", I32, [struct.pack("<i", kind) for kind in kinds]),
        _number("tokenizer.ggml.unknown_token_id", 0),
        _number("tokenizer.ggml.bos_token_id", 1),
        _number("tokenizer.ggml.eos_token_id", 2),
    ]
    shapes = _tensors(len(tokens))
    draw = random.Random(seed)
    infos, data = [], bytearray()
    for name, shape in shapes:
        infos.append(
            _string(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, 0, len(data))  # 0 = F32
        )
        count = 1
        for size in shape:
            count *= size
        values = [1.0] * count if len(shape) == 1 else [draw.gauss(0.0, 0.05) for _ in range(count)]
        data += struct.pack(f"<{count}f", *values)
        data += b"\0" * (-len(data) % ALIGNMENT)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(shapes), len(meta)) + b"".join(meta) + b"".join(infos)
    path.write_bytes(head + b"\0" * (-len(head) % ALIGNMENT) + bytes(data))


def _vocabulary() -> tuple[list[str], list[int]]:
    """Return tokens and kinds: three controls, every byte, and a few letters."""
    letters = ["▁", *"abcdefghijklmnopqrstuvwxyz"]
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *letters]
    kinds = [UNKNOWN, CONTROL, CONTROL, *[BYTE] * 256, *[NORMAL] * len(letters)]
    return tokens, kinds


def _tensors(vocabulary: int) -> list[tuple[str, tuple[int, ...]]]:
    found: list[tuple[str, tuple[int, ...]]] = [("token_embd.weight", (WIDTH, vocabulary))]
    for layer in range(LAYERS):
        place = f"blk.{layer}"
        found += [(f"{place}.attn_norm.weight", (WIDTH,)), (f"{place}.ffn_norm.weight", (WIDTH,))]
        found += [(f"{place}.attn_{part}.weight", (WIDTH, WIDTH)) for part in ("q", "k", "v", "output")]
        found += [(f"{place}.ffn_{part}.weight", (WIDTH, INNER)) for part in ("gate", "up")]
        found.append((f"{place}.ffn_down.weight", (INNER, WIDTH)))
    return [*found, ("output_norm.weight", (WIDTH,)), ("output.weight", (WIDTH, vocabulary))]


def _string(text: str) -> bytes:
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def _key(name: str, kind: int) -> bytes:
    return _string(name) + struct.pack("<I", kind)


def _text(name: str, value: str) -> bytes:
    return _key(name, TEXT) + _string(value)


def _number(name: str, value: int) -> bytes:
    return _key(name, U32) + struct.pack("<I", value)


def _list(name: str, kind: int, items: Sequence[bytes]) -> bytes:
    return _key(name, LIST) + struct.pack("<IQ", kind, len(items)) + b"".join(items)

"""How long a chunked relay takes to bring a file to every region along a chain; simulates, never copies."""

from __future__ import annotations

import numpy as np

__all__ = ["chain_seconds"]


def chain_seconds(total_bytes: float, chunk_bytes: float, link_bytes_per_second: float, hops: int) -> float:
    """Return seconds until the last of `hops` regions has the last chunk.

    A region forwards a chunk once it has all of it; each link sends one chunk at a time. With c chunks and equal
    links this is (c + hops - 1) chunk times.

    >>> round(chain_seconds(700e9, 1e9, 1.25e9, 12))
    569
    """
    chunks = max(1, round(total_bytes / chunk_bytes))
    each = total_bytes / chunks / link_bytes_per_second
    order = np.arange(chunks)
    arrived = np.zeros(chunks)
    for _ in range(hops):
        arrived = np.maximum.accumulate(arrived - order * each) + (order + 1) * each
    return float(arrived[-1])

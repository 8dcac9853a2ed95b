"""The requests of a replay as columns; makes them from traces and never invents a length that was not given."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Requests in order of arrival: seconds from the start, tokens, recorded prefix hits, session key.

    `cached` are prompt tokens that were read from a prefix cache when it was recorded; `key` groups requests that
    share a prefix (-1 = none), of which `shared` tokens are common. A replay with a cache of its own uses the latter.
    """

    seconds: Floats
    input_tokens: Ints
    output_tokens: Ints
    cached: Ints
    key: Ints
    shared: Ints

    def __len__(self) -> int:
        return len(self.seconds)


def arrivals(
    seconds: Floats,
    input_tokens: npt.NDArray[np.generic],
    output_tokens: npt.NDArray[np.generic],
    cached: npt.NDArray[np.generic] | None = None,
    key: npt.NDArray[np.generic] | None = None,
    shared: npt.NDArray[np.generic] | None = None,
) -> Arrivals:
    """Sort the columns by arrival and shift them to start at zero; unknown lengths become the median of the known."""
    order = np.argsort(seconds, kind="stable")
    count = len(order)

    def whole(values: npt.NDArray[np.generic] | None, missing: int, lowest: int) -> Ints:
        if values is None:
            return np.full(count, missing, dtype=np.int64)
        plain = np.asarray(values, dtype=np.float64)[order]
        known = plain[np.isfinite(plain)]
        middle = float(np.median(known)) if len(known) else float(missing)
        return np.maximum(np.where(np.isfinite(plain), plain, middle), lowest).astype(np.int64)

    start = float(seconds[order[0]]) if count else 0.0
    prompt = whole(input_tokens, 1, 1)
    hits = np.zeros(count, dtype=np.int64)
    if cached is not None:
        hits = np.minimum(np.nan_to_num(np.asarray(cached, dtype=np.float64)[order]).astype(np.int64), prompt - 1)
    return Arrivals(
        np.asarray(seconds, dtype=np.float64)[order] - start,
        prompt,
        whole(output_tokens, 1, 1),
        hits,
        whole(key, -1, -1) if key is not None else np.full(count, -1, dtype=np.int64),
        whole(shared, 0, 0),
    )

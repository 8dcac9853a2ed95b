"""Draws leaf tables of counts with the habits of public multi-dimensional sets, and asks the segment search of them.

`python -m benchmarks.faultlab.leaftables [--cases N]`. Habits (facts of the papers and of the published tables): video
starts that failed, by five dimensions of 2 to 8 values, leaves from one request to ten thousand, one to three percent
bad before (RobustSpot); sums with forecasts that err by up to a tenth, elements of one cuboid deviating as one
(Squeeze, ISSRE 2019); many values and weights from heavy tails (RiskLoc, arXiv 2205.10004). Beside ours: Adtributor
(NSDI 2014), shares as BubbleUp compares them, the z of a proportion, and chance.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from time import perf_counter

import numpy as np
import numpy.typing as npt

from analytics.rootcause import localise

Floats = npt.NDArray[np.float64]
Table = Mapping[str, npt.NDArray[np.generic]]
Segment = dict[str, str]
FIRST_SEED = 60_000_000
COUNTS = ("n_before", "bad_before", "n_during", "bad_during")


@dataclass(frozen=True, slots=True)
class LeafCase:
    """A table of counts, its dimensions, and the segments whose bad events were raised."""

    family: str
    table: Table
    dimensions: tuple[str, ...]
    truth: tuple[Segment, ...]


def _grid(rng: np.random.Generator, sizes: Sequence[int], kept: float) -> tuple[list[npt.NDArray[np.int64]], int]:
    """Return codes of the leaves that occur: a share of all combinations, those of common values first."""
    total = int(np.prod(sizes))
    codes = np.unravel_index(np.arange(total), sizes)
    rank = sum(code / size for code, size in zip(codes, sizes, strict=True)) / len(sizes)
    chosen = rng.random(total) < np.clip(kept * 2 * (1.1 - rank), 0.02, 1)
    return [np.asarray(code[chosen], dtype=np.int64) for code in codes], int(chosen.sum())


def _elements(
    rng: np.random.Generator, names: Sequence[str], codes: Sequence[npt.NDArray[np.int64]], weight: Floats, deep: float
) -> tuple[list[Segment], npt.NDArray[np.bool_]]:
    """Draw one to three elements of one cuboid that hold between half a percent and two fifths of all."""
    for _ in range(400):
        layers = 2 if rng.random() < deep else 1
        many = int(rng.choice([1, 1, 1, 2, 2, 3]))
        dims = sorted(int(i) for i in rng.choice(len(names), layers, replace=False))
        picked: dict[tuple[str, ...], npt.NDArray[np.bool_]] = {}
        for _ in range(many):
            levels = tuple(str(int(rng.choice(codes[d]))) for d in dims)
            mask = np.ones(len(weight), dtype=bool)
            for d, level in zip(dims, levels, strict=True):
                mask &= codes[d] == int(level)
            picked[levels] = mask
        shares = [float(weight[mask].sum() / weight.sum()) for mask in picked.values()]
        whole = np.any(list(picked.values()), axis=0)
        # A dimension's only other value, or nearly all of a value, would be the same segment by another name.
        alone = all(
            len(np.unique(codes[d][mask])) > 1 and len(np.unique(codes[d])) > 2
            for mask in picked.values()
            for d in range(len(names))
            if d not in dims
        )
        if len(picked) == many and min(shares) > 0.004 and sum(shares) < 0.4 and alone:
            return [{names[d]: lv for d, lv in zip(dims, levels, strict=True)} for levels in picked], whole
    raise ValueError("no elements fit this table")


def failures(seed: int) -> LeafCase:
    """Draw starts that failed: few values, skewed leaves, a minute against the half hour before."""
    rng = np.random.default_rng(seed)
    names, sizes = ("cdn", "bitrate", "peer", "device", "isp"), (4, 8, 3, 8, 8)
    codes, n = _grid(rng, sizes, 0.35)
    weight = np.exp(rng.normal(0, 0.7, n))
    base = np.full(n, float(np.exp(rng.uniform(np.log(0.004), np.log(0.04)))))
    for code, size in zip(codes, sizes, strict=True):
        weight *= (rng.pareto(1.0, size) + 0.05)[code]
        base *= np.exp(rng.normal(0, 0.25, size))[code]
    weight /= weight.sum()
    truth, mask = _elements(rng, names, codes, weight, 0.4)
    during = float(np.exp(rng.uniform(np.log(5_000), np.log(150_000))))
    before = rng.poisson(weight * during * float(rng.uniform(3, 30)))
    seen = rng.poisson(weight * during * rng.lognormal(0, 0.1, n))
    base = np.clip(base * rng.gamma(20, 1 / 20, n), 1e-4, 0.5)
    lift = float(np.exp(rng.uniform(np.log(2.0), np.log(12))))
    worse = np.where(mask, np.clip(base * lift + float(rng.uniform(0, 0.1)), 0, 0.95), base * rng.lognormal(0, 0.1, n))
    return _case("failures", names, codes, truth, before, rng.binomial(before, base), seen, rng.binomial(seen, worse))


def sums(seed: int) -> LeafCase:
    """Draw sums and their forecasts: elements of one cuboid rise by one deviation, forecasts err by up to a tenth."""
    rng = np.random.default_rng(seed)
    names, sizes = ("a", "b", "c", "d"), (10, 12, 10, 8)
    codes, n = _grid(rng, sizes, 0.5)
    truth, mask = _elements(rng, names, codes, np.ones(n), 0.6)
    usual = rng.lognormal(2.5, 1.0, n)
    error = float(rng.uniform(0, 0.1))
    forecast = usual * (1 + rng.normal(0, error, n))
    deviation = float(rng.uniform(0.3, 1.5))
    real = np.where(mask, usual * (1 + deviation * rng.normal(1, 0.05, n)), usual)
    room = np.ceil(usual * float(rng.uniform(10, 40)))
    return _case(
        "sums", names, codes, truth, room, np.maximum(forecast.round(), 0), room, np.minimum(real.round(), room)
    )


def many_values(seed: int) -> LeafCase:
    """Draw dimensions of up to two hundred values, weights from a heavy tail."""
    rng = np.random.default_rng(seed)
    names, sizes = ("host", "customer", "zone", "build"), (20, 200, 5, 6)
    codes, n = _grid(rng, sizes, 0.12)
    weight = rng.exponential(1, n) * (rng.pareto(1.3, 200) + 0.1)[codes[1]]
    weight /= weight.sum()
    truth, mask = _elements(rng, names, codes, weight, 0.5)
    during = float(np.exp(rng.uniform(np.log(20_000), np.log(300_000))))
    before, seen = rng.poisson(weight * during * 6), rng.poisson(weight * during)
    base = np.clip(float(rng.uniform(0.005, 0.05)) * rng.gamma(8, 1 / 8, n), 1e-4, 0.5)
    worse = np.where(mask, np.clip(base + float(rng.uniform(0.08, 0.6)) * rng.uniform(0.7, 1, n), 0, 0.98), base)
    return _case(
        "many values", names, codes, truth, before, rng.binomial(before, base), seen, rng.binomial(seen, worse)
    )


def _case(
    family: str,
    names: Sequence[str],
    codes: Sequence[npt.NDArray[np.int64]],
    truth: Sequence[Segment],
    *counts: npt.NDArray[np.generic],
) -> LeafCase:
    table: dict[str, npt.NDArray[np.generic]] = {
        name: np.array([str(code) for code in column.tolist()], dtype=object)
        for name, column in zip(names, codes, strict=True)
    }
    table |= {name: values.astype(np.float64) for name, values in zip(COUNTS, counts, strict=True)}
    return LeafCase(family, table, tuple(names), tuple(truth))


def drawn(family: Callable[[int], LeafCase], seed: int) -> LeafCase:
    """Draw until every element shows: ten more bad events than chance, at six standard deviations."""
    for attempt in range(50):
        case = family(seed + 1_000_000 * attempt)
        if all(_shows(case, segment) for segment in case.truth):
            return case
    raise ValueError("no case of this family shows")


def _shows(case: LeafCase, segment: Segment) -> bool:
    inside = np.all([case.table[name] == level for name, level in segment.items()], axis=0)
    n0, b0, n1, b1 = (float(np.asarray(case.table[name], dtype=np.float64)[inside].sum()) for name in COUNTS)
    usual = n1 * (b0 + 0.5) / (n0 + 1)
    return bool(b1 - usual > max(10.0, 6 * float(np.sqrt(usual + 1))))


FAMILIES: tuple[Callable[[int], LeafCase], ...] = (failures, sums, many_values)


def ours(case: LeafCase) -> list[Segment]:
    """Return the segments that the product names, best first."""
    return [found.segment for found in localise(case.table, case.dimensions)]


def adtributor(case: LeafCase) -> list[Segment]:
    """Return the elements of the dimension of most surprise that explain more than a tenth of the change each."""
    n0, b0, n1, b1 = (np.asarray(case.table[name], dtype=np.float64) for name in COUNTS)
    scale = n1.sum() / max(n0.sum(), 1.0)
    whole0, whole1 = float(b0.sum()) * scale, float(b1.sum())
    best: tuple[float, list[Segment]] = (-1.0, [])
    for name in case.dimensions:
        parts = []
        for level in np.unique(case.table[name].astype(str)).tolist():
            inside = case.table[name] == level
            forecast, actual = float(b0[inside].sum()) * scale, float(b1[inside].sum())
            p, q = forecast / max(whole0, 1e-9), actual / max(whole1, 1e-9)
            m = (p + q) / 2
            surprise = 0.5 * sum(x * float(np.log(x / m)) for x in (p, q) if x > 0)
            power = (actual - forecast) / max(whole1 - whole0, 1e-9)
            parts.append((surprise, power, level))
        chosen: list[Segment] = []
        explained = total = 0.0
        for surprise, power, level in sorted(parts, reverse=True):
            if power > 0.1 and explained < 0.67:
                chosen.append({name: level})
                explained, total = explained + power, total + surprise
        if chosen and total > best[0]:
            best = (total, chosen)
    return best[1]


def shares(case: LeafCase) -> list[Segment]:
    """Rank single values by how much larger their share of the bad is than of the good, as BubbleUp shows."""
    _, _, n1, b1 = (np.asarray(case.table[name], dtype=np.float64) for name in COUNTS)
    ranked = []
    for segment, inside in _values(case):
        bad, good = b1[inside].sum() / max(b1.sum(), 1), (n1 - b1)[inside].sum() / max((n1 - b1).sum(), 1)
        ranked.append((float(bad - good), segment))
    return [segment for _, segment in sorted(ranked, key=lambda item: -item[0])]


def proportions(case: LeafCase) -> list[Segment]:
    """Rank segments of one and two dimensions by the z of their bad share during against before."""
    n0, b0, n1, b1 = (np.asarray(case.table[name], dtype=np.float64) for name in COUNTS)
    ranked = []
    values = _values(case)
    pairs = [
        ({**a, **b}, x & y)
        for (a, x), (b, y) in combinations([item for item in values if b1[item[1]].sum() > 0.02 * b1.sum()], 2)
        if a.keys() != b.keys()
    ]
    for segment, inside in values + pairs:
        if n0[inside].sum() < 5 or n1[inside].sum() < 5:
            continue
        p = (b0[inside].sum() + b1[inside].sum() + 0.5) / (n0[inside].sum() + n1[inside].sum() + 1)
        gap = b1[inside].sum() / n1[inside].sum() - b0[inside].sum() / n0[inside].sum()
        ranked.append(
            (float(gap / np.sqrt(p * (1 - p) * (1 / n0[inside].sum() + 1 / n1[inside].sum()) + 1e-12)), segment)
        )
    return [segment for _, segment in sorted(ranked, key=lambda item: -item[0])]


def _values(case: LeafCase) -> list[tuple[Segment, npt.NDArray[np.bool_]]]:
    return [
        ({name: level}, np.asarray(case.table[name] == level, dtype=bool))
        for name in case.dimensions
        for level in np.unique(case.table[name].astype(str)).tolist()
    ]


METHODS: dict[str, Callable[[LeafCase], list[Segment]]] = {
    "ours": ours, "adtributor": adtributor, "shares": shares, "proportions": proportions,
}  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """Print, by family and number of elements, how often the first is one of the true ones, and the F1 of the set."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faultlab.leaftables", description=__doc__)
    parser.add_argument("--cases", type=int, default=60, help="cases of each family")
    parser.add_argument("--first", type=int, default=FIRST_SEED, help="first seed")
    parser.add_argument("--verbose", action="store_true", help="print our misses")
    asked = parser.parse_args(argv)
    top: dict[tuple[str, str], list[float]] = defaultdict(list)
    overlap: dict[tuple[str, str], list[float]] = defaultdict(list)
    seconds = []
    for number, family in enumerate(FAMILIES):
        for seed in range(asked.cases):
            case = drawn(family, asked.first + 10_000 * number + seed)
            kind = f"{case.family}, {len(case.truth[0])} dim., {len(case.truth)} el."
            for name, method in METHODS.items():
                began = perf_counter()
                found = method(case)
                if name == "ours":
                    seconds.append(perf_counter() - began)
                hits = sum(segment in case.truth for segment in found[: len(case.truth)])
                for group in (kind, "all"):
                    top[name, group].append(float(found[:1] != [] and found[0] in case.truth))
                    overlap[name, group].append(hits / len(case.truth))
                if name == "ours" and asked.verbose and hits < len(case.truth):
                    print(f"  {case.family} {seed}: true {case.truth}, found {found[:4]}")
    groups = [*sorted({group for _, group in top if group != "all"}), "all"]
    print(f"{'first is true / F1 of as many as are true':<44}" + "".join(f"{name:>16}" for name in METHODS))
    for group in groups:
        cells = [f"{np.mean(top[name, group]):.2f} / {np.mean(overlap[name, group]):.2f}" for name in METHODS]
        print(f"{group:<38}{len(top['ours', group]):>6}" + "".join(f"{cell:>16}" for cell in cells))
    print(f"seconds a search: mean {np.mean(seconds):.3f}, most {np.max(seconds):.3f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""The fault laboratories: they share nothing with the causes, and their tables are what they say."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

from benchmarks.faultlab.leaftables import COUNTS, FAMILIES, FIRST_SEED, LeafCase, drawn, ours

ROOT = Path(__file__).resolve().parents[3]
#: What asks for explanations may read them; what breaks services may not know how they are explained.
ASKING = {"calibrate.py", "leaftables.py", "trials.py", "second.py", "__main__.py"}


def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


def test_laboratories_do_not_know_the_causes() -> None:
    for path in (ROOT / "benchmarks" / "faultlab").rglob("*.py"):
        if path.name not in ASKING:
            assert not {name for name in imports(path) if name.startswith(("analytics", "collector"))}, path


def test_causes_do_not_know_the_laboratories() -> None:
    for path in (ROOT / "analytics" / "rootcause").rglob("*.py"):
        assert not {name for name in imports(path) if name.startswith("benchmarks")}, path


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_leaf_tables_hold_counts_and_true_segments(family: object) -> None:
    assert callable(family)
    case = drawn(family, FIRST_SEED + 7)
    assert isinstance(case, LeafCase)
    n0, b0, n1, b1 = (np.asarray(case.table[name], dtype=np.float64) for name in COUNTS)
    assert (b0 <= n0).all()
    assert (b1 <= n1).all()
    assert all(set(segment) <= set(case.dimensions) for segment in case.truth)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_most_first_segments_are_true_ones(family: object) -> None:
    assert callable(family)
    cases = [drawn(family, FIRST_SEED + 500 + seed) for seed in range(5)]
    assert sum(ours(case)[0] in case.truth for case in cases) >= 4

"""Every benchmark says with --help what it does and starts nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = [
    path.relative_to(ROOT).as_posix()
    for path in sorted((ROOT / "benchmarks").rglob("*.py"))
    if 'if __name__ == "__main__"' in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_benchmark_parses_its_command_line(program: str) -> None:
    source = (ROOT / program).read_text(encoding="utf-8")
    assert re.search(r"argparse\.ArgumentParser\(", source) and ".parse_args(" in source

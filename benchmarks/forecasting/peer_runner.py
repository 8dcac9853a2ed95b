"""Sets up statsforecast beside the project, asks it for paths, within a time limit; without it there are no peers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

BUILD = Path(__file__).resolve().parents[2] / "build" / "peers"
SCRIPT = Path(__file__).with_name("peers.py")
#: Version that the comparison is made with.
REQUIREMENT = "statsforecast==2.1.1"
SETUP_SECONDS = 240


def python() -> Path | None:
    """Return the interpreter of an environment that has statsforecast, building it once; None where that fails."""
    found = BUILD / "statsforecast" / "bin" / "python"
    if found.exists() and (BUILD / "ready").exists():
        return found
    uv = Path(sys.executable).with_name("uv")
    tool = [str(uv)] if uv.exists() else None
    try:
        BUILD.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, "-m", "venv", str(found.parent.parent)], check=True, timeout=SETUP_SECONDS)
        install = [*tool, "pip", "install", "--python", str(found)] if tool else [str(found), "-m", "pip", "install"]
        subprocess.run([*install, "--quiet", REQUIREMENT], check=True, timeout=SETUP_SECONDS)
    except (subprocess.SubprocessError, OSError) as error:
        print(f"no peers: {error}", file=sys.stderr)
        return None
    (BUILD / "ready").touch()
    return found


def ask(tasks: Sequence[dict[str, object]], limit_seconds: float) -> dict[str, dict[str, object]]:
    """Return answers by task id; those that did not come within the limit are left out."""
    interpreter = python()
    if interpreter is None:
        return {}
    source = BUILD / "tasks.jsonl"
    source.write_text("".join(json.dumps(task) + "\n" for task in tasks))
    answers = BUILD / "answers.jsonl"
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "NIXTLA_NUMBA_CACHE": "1"}
    with source.open() as stdin, answers.open("w") as stdout:
        try:
            subprocess.run([str(interpreter), str(SCRIPT)], stdin=stdin, stdout=stdout, stderr=subprocess.DEVNULL,
                           timeout=limit_seconds, check=False, env=environment)  # fmt: skip
        except subprocess.TimeoutExpired:
            print(f"peers stopped after {limit_seconds:.0f} s", file=sys.stderr)
    found = {}
    for line in answers.read_text().splitlines():
        if line.endswith("}"):
            answer = json.loads(line)
            found[answer["id"]] = answer
    return found

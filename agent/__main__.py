"""Runs `python -m agent` as the command `sloscope-agent`; decides nothing."""

from __future__ import annotations

from agent.cli import entry

entry()

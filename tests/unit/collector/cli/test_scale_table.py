"""A table of recommendations has one short cell for each figure; what it rests on stands above it."""

from __future__ import annotations

from collector.cli.scale_table import NO_POOL, brief, reasons

ROW = {
    "pool": "chat",
    "because": ["demand at +180 s is 1.53 req/s"],
    "advice": ["Little's law asks for 6.4 instances"],
    "demand": {"now": 0.787, "q90": 1.288, "basis": "blend", "unit": "requests per second"},
    "capacity_per_instance": {
        "value": 0.6865, "interval": [0.3847, 0.8649], "from": "saturation", "windows": 14,
        "by_length": {"applied": True, "because": "lengths at the horizon change what one instance serves by -52%"},
    },
    "cold_start": {"p95_seconds": 61.0, "from": "measured", "phases": {"load": 40.0, "pull": None}},
}  # fmt: skip


def test_demand_and_capacity_become_one_short_cell_each() -> None:
    (row,) = brief({"recommendations": [ROW]})["recommendations"]
    assert row["demand"] == "0.787 now, q90 1.288"
    assert row["capacity_per_instance"] == "0.6865 [0.3847, 0.8649]"
    assert row["pool"] == "chat"


def test_a_capacity_without_an_interval_shows_none() -> None:
    row = {**ROW, "capacity_per_instance": {"value": 16.8, "interval": [None, None], "from": "prior"}}
    (short,) = brief({"recommendations": [row]})["recommendations"]
    assert short["capacity_per_instance"] == "16.8"


def test_the_lines_above_say_why_and_from_what() -> None:
    lines = reasons({"recommendations": [ROW]})
    assert lines[0] == "chat: demand at +180 s is 1.53 req/s"
    assert "chat: Little's law asks for 6.4 instances" in lines
    assert "chat: in requests per second; demand from blend; capacity from saturation, 14 windows" in lines
    assert "chat: lengths at the horizon change what one instance serves by -52%" in lines
    assert lines[-1] == "chat: cold start P95 61 s (measured): load 40 s; not seen: pull"


def test_an_answer_without_pools_says_what_it_lacks() -> None:
    assert reasons({"recommendations": []}) == [NO_POOL]

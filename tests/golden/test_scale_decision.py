"""A whole decision as it is answered and stored, field by field."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from analytics.scaling import Capacity, ColdStart, Demand, Load, Memory, Pool, PoolState, Sight, decide

GOLDEN = Path(__file__).with_name("scale_decision.json")
NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)


def test_a_decision_is_answered_as_it_was() -> None:
    watched = Memory(((NOW - timedelta(seconds=15), 12),), NOW - timedelta(hours=2))
    state = PoolState(
        pool=Pool(
            "chat-eu", "llama", region="eu", gpu_type="H100", gpus_per_instance=4, usd_per_gpu_hour=2.5, standby=1
        ),
        current=12,
        ready=11,
        starting=1,
        demand=Demand(105.0, 110.0, 124.0, 140.0, 155.0, 108.0, "level of now", high=130.0),
        capacity=Capacity(10.0, 9.6, 10.3, "frontier", 420, 21.0, drift=-0.18, drift_since="v2"),
        cold_start=ColdStart(110.0, 180.0, 30, "measured on 30 start-ups"),
        load=Load(4.0, 190.0, 0.5, 0.6, 0.5, 2.0, 1.9),
        sight=Sight(NOW - timedelta(seconds=5), 11, 11),
        memory=replace(watched, score=1.9, scored_at=NOW - timedelta(seconds=15)),
        budget_remaining=0.7,
        burn_rate=3.0,
    )
    answer = decide(state, NOW).to_dict()
    assert json.loads(json.dumps(answer)) == json.loads(GOLDEN.read_text())

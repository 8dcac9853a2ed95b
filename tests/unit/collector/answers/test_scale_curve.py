"""The curve of the day in a scaling decision is learnt once an hour where curves are kept, and knows declared days."""

from __future__ import annotations

from datetime import timedelta

import pytest

from analytics.forecast import Event, Forecaster, Keeper, default
from collector.answers.scale import decisions
from collector.answers.scale_curve import STEP_SECONDS
from collector.answers.scale_states import Wishes
from tests.unit.collector.answers.test_scale import START, Store


def three_days() -> Store:
    store = Store()
    start = START - timedelta(days=3)
    rows = [
        (start + timedelta(minutes=5 * (k + 1)), 300.0, "a", "llama", "both", "ok", 0.0, 4.0, 0.3, 600.0, 3e5, 6e4)
        for k in range(3 * 288)
    ]
    names = ["ts", "interval_seconds", "instance", "model", "role", "scrape_state", "queue_depth", "running",
             "kv_usage_ratio", "first_tokens", "prompt_tokens", "generation_tokens"]  # fmt: skip
    store.bulk("engine_samples", names, rows)
    return store


def test_a_kept_curve_is_refreshed_and_learnt_anew_only_every_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    fits = []
    fit = Forecaster.fit
    monkeypatch.setattr(Forecaster, "fit", lambda self, *given: fits.append(1) or fit(self, *given))
    store = three_days()
    kept = Wishes(curves=Keeper(lambda: default(STEP_SECONDS)))
    for seconds in (0, 15, 30):
        decisions(store.reader, START + timedelta(seconds=seconds), wishes=kept)
    assert len(fits) == 1
    decisions(store.reader, START + timedelta(hours=1, seconds=1), wishes=kept)
    assert len(fits) == 2


def test_a_declared_launch_raises_the_demand_that_is_provided_for() -> None:
    store = three_days()
    midnight = START.replace(hour=0, minute=0, second=0, microsecond=0)
    (plain,) = decisions(store.reader, midnight)
    (launch,) = decisions(store.reader, midnight, wishes=Wishes(calendar=(Event(midnight.date(), factor=3.0),)))
    assert launch.demand_q90 > 2 * plain.demand_q90

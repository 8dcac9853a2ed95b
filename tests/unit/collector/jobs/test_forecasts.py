"""The job keeps every model's forecast on /metrics, and learns anew only every hour."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from analytics.forecast import Forecaster
from collector.answers.forecast_series import Outlook, page
from collector.jobs.forecasts import ForecastKeeper
from tests.unit.collector.jobs.support import Clock, parts_of

NOW = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)


def test_every_model_is_shown_and_refreshed_between_fits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fits = []
    fit = Forecaster.fit
    monkeypatch.setattr(Forecaster, "fit", lambda self, *given: fits.append(1) or fit(self, *given))
    clock = Clock(NOW)
    with parts_of(None, clock) as parts:
        moments = [NOW - timedelta(minutes=3 * k) for k in range(200)]
        parts.store.append(
            "requests",
            [
                {"ts": moment, "request_id": f"{model}-{k}", "source": "import", "model": model, "status": "ok"}
                for model in ("a", "b")
                for k, moment in enumerate(moments)
            ],
        )
        job = ForecastKeeper(parts)
        job.run()
        assert len(fits) == 2
        shown = parts.published["forecasts"]
        assert 'sloscope_forecast_requests_per_second{model="b",lead="24h",quantile="0.99"}' in shown
        assert 'sloscope_forecast_confidence_ratio{model="a"}' in shown
        clock.forward(minutes=5)
        job.run()
        assert len(fits) == 2
        clock.forward(minutes=60)
        job.run()
        assert len(fits) == 4


def test_without_data_nothing_is_shown() -> None:
    with parts_of(None, Clock(NOW)) as parts:
        ForecastKeeper(parts).run()
        assert parts.published["forecasts"] == ""


def test_declared_days_reach_the_forecast(tmp_path: Path) -> None:
    calendar = tmp_path / "calendar.yaml"
    calendar.write_text("events:\n  - {day: 2026-03-11, factor: 3}\n")
    shown = []
    for settings in ({}, {"calendar": str(calendar)}):
        with parts_of(None, Clock(NOW), **settings) as parts:
            rows = [
                {
                    "ts": NOW - timedelta(minutes=k),
                    "request_id": f"{k}",
                    "source": "import",
                    "model": "a",
                    "status": "ok",
                }
                for k in range(1, 4000)
            ]
            parts.store.append("requests", rows)
            ForecastKeeper(parts).run()
            line = next(line for line in parts.published["forecasts"].splitlines() if '"24h",quantile="0.5"' in line)
            shown.append(float(line.rsplit(" ", 1)[1]))
    assert shown[1] > 2 * shown[0]


def test_what_is_unknown_has_no_sample() -> None:
    shown = page({'m"1': Outlook(np.full((144, 4), np.nan), 600, 0.0)})
    assert "requests_per_second" not in shown
    assert 'model="m\\"1"' in shown

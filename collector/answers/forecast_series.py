"""Shows what demand comes next as Prometheus gauges, by model, lead and quantile; forecasts nothing itself."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from analytics.forecast.forecaster import QUANTILES
from analytics.forecast.history import FloatArray

DEMAND_SERIES = "sloscope_forecast_requests_per_second"
CONFIDENCE_SERIES = "sloscope_forecast_confidence_ratio"
#: Leads that are shown, in seconds.
LEADS = {"10m": 600, "1h": 3_600, "6h": 21_600, "24h": 86_400}


@dataclass(frozen=True, slots=True)
class Outlook:
    """What is forecast of one model: `path` is (steps, QUANTILES) per second from now on."""

    path: FloatArray
    step_seconds: int
    confidence: float


def page(found: Mapping[str, Outlook]) -> str:
    """Return Prometheus text; what is unknown has no sample."""
    demand, sure = [], []
    for model, outlook in sorted(found.items()):
        label = _escaped(model)
        for lead, seconds in LEADS.items():
            row = outlook.path[min(len(outlook.path), max(1, seconds // outlook.step_seconds)) - 1]
            demand += [
                f'{DEMAND_SERIES}{{model="{label}",lead="{lead}",quantile="{quantile:g}"}} {value:.6g}'
                for quantile, value in zip(QUANTILES, row.tolist(), strict=True)
                if math.isfinite(value)
            ]
        sure.append(f'{CONFIDENCE_SERIES}{{model="{label}"}} {outlook.confidence:.6g}')
    lines: list[str] = []
    for name, told, samples in (
        (DEMAND_SERIES, "requests per second that are expected, by lead time and quantile", demand),
        (CONFIDENCE_SERIES, "how sure the forecast of a model is, 0 to 1", sure),
    ):
        if samples:
            lines += [f"# HELP {name} {told}", f"# TYPE {name} gauge", *samples]
    return "".join(f"{line}\n" for line in lines)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

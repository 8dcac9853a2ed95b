"""Every public view by name; adding one is a definition beside its kind and a line here."""

from __future__ import annotations

from signals.schema import View
from signals.views.engines import ENGINE_BINS, ENGINE_DEMAND, ENGINE_SAMPLES, SIGNAL_SAMPLES
from signals.views.fleet import CHANGES, GPU_EVENTS, GPU_SAMPLES, HOST_SAMPLES, INSTANCE_ALIASES, INSTANCES
from signals.views.judgements import INCIDENTS, OBJECTIVE_COUNTS, RECOMMENDATIONS
from signals.views.traffic import ARRIVALS, DEMAND, INSTANCE_BINS, LATENCY_BINS, REQUESTS

#: Every stored public view by name, in the order of the documentation.
VIEWS: dict[str, View] = {
    view.name: view
    for view in (
        REQUESTS,
        ARRIVALS,
        ENGINE_SAMPLES,
        ENGINE_BINS,
        LATENCY_BINS,
        INSTANCE_BINS,
        GPU_SAMPLES,
        GPU_EVENTS,
        HOST_SAMPLES,
        SIGNAL_SAMPLES,
        INSTANCES,
        INSTANCE_ALIASES,
        CHANGES,
        OBJECTIVE_COUNTS,
        RECOMMENDATIONS,
        INCIDENTS,
        DEMAND,
        ENGINE_DEMAND,
    )
}

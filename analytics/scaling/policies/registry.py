"""Every scaling policy by name, with the grid over which its one target is tuned; one line adds one."""

from __future__ import annotations

from analytics.scaling.policies.aibrix import Aibrix
from analytics.scaling.policies.dynamo import Dynamo
from analytics.scaling.policies.form import Entry
from analytics.scaling.policies.hpa import HpaGpu, HpaQueue, KedaInFlight
from analytics.scaling.policies.knative import Knative
from analytics.scaling.policies.phpa import Phpa
from analytics.scaling.policies.ray_serve import RayServe
from analytics.scaling.policies.recommender import Recommender
from analytics.scaling.policies.sageserve import SageServe
from analytics.scaling.policies.schedule import StaticPeak, Yesterday
from analytics.scaling.policies.wva import WvaV1, WvaV2
from signals.errors import UnknownNameError

#: Shares of the knee that in-flight policies are tuned over; wide enough that no best target lies at an end.
SHARES = (0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
#: Factors on a plan's size.
FACTORS = (0.9, 1.0, 1.1, 1.25, 1.5, 2.0)

POLICIES: dict[str, Entry] = {
    entry.name: entry
    for entry in (
        Entry(
            "sloscope", "this recommender: demand at the cold start, guard on queue, KV and TTFT", (1.0,), Recommender
        ),
        Entry("hpa-queue", "HPA v2 on waiting requests", (0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0), HpaQueue),
        Entry("keda-in-flight", "KEDA on running + waiting requests", SHARES, KedaInFlight),
        Entry("knative", "Knative KPA on concurrency", SHARES, Knative),
        Entry("dynamo", "Dynamo's planner, throughput and load", (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0), Dynamo),
        Entry("yesterday", "yesterday's curve one cold start early", FACTORS, Yesterday),
        Entry("static-peak", "the past's peak all day", (0.7, 0.8, 0.9, 1.0, 1.1, 1.25), StaticPeak),
        Entry("hpa-gpu", "HPA v2 on GPU utilisation", (0.6, 0.7, 0.8, 0.9, 0.95), HpaGpu),
        Entry("ray-serve", "Ray Serve on ongoing requests", SHARES, RayServe),
        Entry("aibrix-apa", "AIBrix APA on requests per pod", SHARES, Aibrix),
        Entry("wva-v1", "llm-d WVA V1 on spare KV and queue", (0.4, 0.5, 0.6, 0.7, 0.8, 1.0), WvaV1),
        Entry("wva-v2", "llm-d WVA V2 on tokens against capacity", (0.5, 0.6, 0.7, 0.8, 0.9, 1.0), WvaV2),
        Entry("sageserve", "SageServe's hourly credit and reactive gate", (0.8, 1.0, 1.25, 1.5, 2.0), SageServe),
        Entry("phpa", "in-flight HPA with its own history extrapolated", SHARES, Phpa),
    )
}


def get(name: str) -> Entry:
    """Return a policy; `_` reads as `-` and "ours" as "sloscope". Raises UnknownNameError with the nearest name."""
    plain = "sloscope" if name == "ours" else name.replace("_", "-")
    if plain not in POLICIES:
        raise UnknownNameError("policy", name, [*POLICIES, "oracle"])
    return POLICIES[plain]

"""What a pool is: the instances that are scaled together, with their limits and price; knows no load."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pool:
    """One (model, role, region) that is scaled as a whole.

    `unit` is the number of instances that come and go together (a decode unit of 18 machines is one step).
    `max` and `quota` None mean unlimited; `usd_per_gpu_hour` None means that the price is unknown.
    """

    name: str
    model: str
    role: str = "both"
    region: str | None = None
    gpu_type: str | None = None
    gpus_per_instance: int = 1
    unit: int = 1
    min: int = 1
    max: int | None = None
    usd_per_gpu_hour: float | None = None
    price_since: str | None = None
    standby: int = 0
    budget_usd_per_hour: float | None = None
    quota: int | None = None
    class_: str = "interactive"
    #: Instances that must be able to fail (a machine, a unit, a region's share) without breaking the objective.
    survive: int = 0
    #: Prefill instances per decode instance that the pair is meant to keep; None where roles are not split.
    ratio: float | None = None
    partner: str | None = None

    def cost_per_hour(self, instances: int) -> float | None:
        """Return USD per hour of that many instances, None where the price is unknown."""
        if self.usd_per_gpu_hour is None:
            return None
        return instances * self.gpus_per_instance * self.usd_per_gpu_hour

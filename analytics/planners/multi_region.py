"""Plans several regions: model distribution and how full each may run so that one can be lost; never shifts traffic."""

from __future__ import annotations

from dataclasses import dataclass

from analytics.planners.form import Plan, PlannerInputs, Step, StepValue, Verdict, number, numbers, whole
from analytics.planners.planner import Monotone, Planner

__all__ = ["PLANNER", "MultiRegionInputs"]

_DESIGN = "reference design of a 700B model in several regions"


@dataclass(frozen=True, slots=True)
class MultiRegionInputs(PlannerInputs):
    """The model to copy, the links, and how many regions share the load."""

    model_bytes: float = number(700e9, "bytes", 1, 1e15, "Model to distribute.", "700B in FP8")
    regions: int = whole(12, "regions", 1, 1000, "Regions that get a copy.", _DESIGN)
    link_bytes_per_second: float = number(1.25e9, "bytes/s", 1e3, 1e13, "One link between regions.", "10 Gb/s")
    relay_margin: float = number(2, "ratio", 1, 100, "Time allowed for a relay, over one copy.", _DESIGN)
    sharing_regions: tuple[float, ...] = numbers(
        (3, 4, 6), "regions", 2, 1000, "Numbers of regions sharing evenly.", _DESIGN
    )

    def plan(self) -> Plan:
        """Return distribution hours and the ceiling of each region."""
        copy = self.model_bytes / self.link_bytes_per_second / 3600
        sequential = copy * self.regions
        relay = copy * self.relay_margin
        ceiling: dict[str, StepValue] = {f"{each:g}": 1 - 1 / each for each in self.sharing_regions}
        steps = (
            Step("sequential_copy_hours", sequential, "h", "one copy after another from the centre"),
            Step("relay_copy_hours", relay, "h", "each region forwards a chunk as it arrives, with the margin"),
            Step("utilisation_ceiling", ceiling, "ratio", "(n - 1) / n: the others absorb one region's load"),
        )
        verdicts = (
            Verdict(
                "a relay is faster than copying in turn",
                relay < sequential,
                f"{relay:.2g} h against {sequential:.2g} h",
            ),
        )
        worst = min(self.sharing_regions)
        headline = (
            f"A relay distributes in {relay:.1f} h instead of {sequential:.1f} h; "
            f"{worst:g} even regions may each run at {1 - 1 / worst:.0%}"
        )
        return Plan(PLANNER.name, self, steps, verdicts, headline)


PLANNER = Planner(
    name="multi_region",
    title="Several regions",
    question="How full may each region run so that one can be lost, and how long does a release take to arrive?",
    inputs=MultiRegionInputs,
    decides="sequential_copy_hours",
    monotone=(
        Monotone("model_bytes", "sequential_copy_hours"),
        Monotone("regions", "sequential_copy_hours"),
        Monotone("link_bytes_per_second", "relay_copy_hours", falls=True),
    ),
)

"""Plans several regions: model distribution and how full each may run so that one can be lost; never shifts traffic."""

from __future__ import annotations

from dataclasses import dataclass

from analytics.planners.form import Plan, PlannerInputs, Step, StepValue, Verdict, named, number, numbers, whole
from analytics.planners.planner import Monotone, Planner
from analytics.planners.region_loss import Region, daily_requests, deferrable_room, loss_of, place_deferrable
from analytics.planners.relay import chain_seconds

__all__ = ["PLANNER", "MultiRegionInputs"]

_DESIGN = "reference design of a 700B model in several regions"

_OWN = "an assumption to measure"


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
    chunk_bytes: float = number(1e9, "bytes", 1e6, 1e13, "A chunk of the relay.", _OWN)
    region_capacity: tuple[tuple[str, float], ...] = named(
        {"america": 120, "europe": 90, "asia": 150}, "requests/s", 0.001, 1e7, "Capacity of each region.", _OWN
    )
    region_peak: tuple[tuple[str, float], ...] = named(
        {"america": 80, "europe": 60, "asia": 100}, "requests/s", 0.001, 1e7, "Each region's daily peak.", _OWN
    )
    region_peak_utc_hour: tuple[tuple[str, float], ...] = named(
        {"america": 20, "europe": 13, "asia": 6}, "h", 0, 24, "UTC hour of that peak.", "15:00 local time"
    )
    region_zone: tuple[tuple[str, float], ...] = named(
        {"america": 1, "europe": 2, "asia": 3}, "zone", 0, 1000, "Residency zone, as a number.", _OWN
    )
    resident_ratio: tuple[tuple[str, float], ...] = named(
        {"america": 0, "europe": 0.4, "asia": 0.1}, "ratio", 0, 1, "Requests that may not leave their zone.", _OWN
    )
    trough_ratio: float = number(0.3, "ratio", 0, 1, "A day's lowest load over its peak.", _OWN)
    deferrable_ratio: float = number(0.15, "ratio", 0, 1, "Share of the load that can wait.", _OWN)
    ceiling_ratio: float = number(0.9, "ratio", 0.01, 1, "How full a region may be filled with deferred work.", _OWN)
    shift_ratio_per_minute: float = number(0.2, "ratio", 1e-4, 100, "Traffic moved in a minute.", _OWN)
    scale_up_seconds: float = number(180, "s", 0, 86_400, "Until a target region has more instances.", _OWN)

    def plan(self) -> Plan:
        """Return distribution hours and the ceiling of each region."""
        copy = self.model_bytes / self.link_bytes_per_second / 3600
        sequential = copy * self.regions
        relay = copy * self.relay_margin
        ceiling: dict[str, StepValue] = {f"{each:g}": 1 - 1 / each for each in self.sharing_regions}
        steps: tuple[Step, ...] = (
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
        simulated = chain_seconds(self.model_bytes, self._chunk(), self.link_bytes_per_second, self.regions)
        steps += (Step("relay_simulated_hours", simulated / 3600, "h", "every chunk passed along a chain of regions"),)
        more, lost = self._losses()
        return Plan(PLANNER.name, self, steps + more, verdicts + lost, headline)

    def _chunk(self) -> float:
        """Return the chunk, at least a five-hundredth of the model so that the simulation stays small."""
        return max(self.chunk_bytes, self.model_bytes / 500)

    def _regions(self) -> dict[str, Region]:
        peak, hour = dict(self.region_peak), dict(self.region_peak_utc_hour)
        zone, resident = dict(self.region_zone), dict(self.resident_ratio)
        return {
            name: Region(name, capacity, peak[name], hour.get(name, 15.0), zone.get(name, 0.0), resident.get(name, 0.0))
            for name, capacity in self.region_capacity
            if name in peak
        }

    def _losses(self) -> tuple[tuple[Step, ...], tuple[Verdict, ...]]:
        """Return what happens when each region is lost, and the room for deferrable work."""
        regions = self._regions()
        kept = 1 - self.deferrable_ratio
        with_all = {name: loss_of(name, regions, self.trough_ratio, 1.0) for name in regions}
        paused = {name: loss_of(name, regions, self.trough_ratio, kept) for name in regions}
        steps = (
            Step(
                "peak_utilisation_by_region",
                {name: each.peak / each.capacity for name, each in regions.items()},
                "ratio",
                "peak / capacity",
            ),
            Step(
                "utilisation_after_loss",
                {name: each.utilisation for name, each in with_all.items()},
                "ratio",
                "load of the worst hour / capacity of the others, when the named region is lost",
            ),
            Step(
                "worst_utc_hour_after_loss",
                {name: each.worst_utc_hour for name, each in with_all.items()},
                "h",
                "hour of that load",
            ),
            Step(
                "served_after_loss",
                {name: each.served_ratio for name, each in with_all.items()},
                "ratio",
                "share of the lost region's traffic that others can and may take, in its worst hour",
            ),
            Step(
                "served_after_loss_deferrable_paused",
                {name: each.served_ratio for name, each in paused.items()},
                "ratio",
                "the same with deferrable work paused first",
            ),
            *self._shift(),
        )
        room = deferrable_room(regions, self.trough_ratio, kept, self.ceiling_ratio)
        placed = place_deferrable(regions, self.trough_ratio, self.deferrable_ratio)
        deferred = self.deferrable_ratio * daily_requests(regions, self.trough_ratio)
        steps += (
            Step("deferrable_requests_per_day", deferred, "requests", "share that can wait x requests of a day"),
            Step("deferrable_room_per_day", room, "requests", "under the ceiling beside interactive load, all regions"),
            Step(
                "utilisation_with_deferral",
                placed.level,
                "ratio",
                "highest load / capacity when deferrable work fills the troughs of all regions evenly",
            ),
            Step("deferrable_share_by_region", placed.shares, "ratio", "where deferrable work then runs"),
            Step("deferrable_share_moved", placed.moved_ratio, "ratio", "deferrable work that changes region"),
        )
        verdicts = (
            Verdict(
                "any one region can be lost",
                all(each.served_ratio >= 1 - 1e-9 for each in paused.values()),
                "of each lost region's traffic the others serve, with deferrable work paused: "
                + ", ".join(f"{name} {each.served_ratio:.0%}" for name, each in paused.items()),
            ),
            Verdict(
                "deferrable work fits the troughs",
                room >= deferred,
                f"{deferred:,.0f} requests a day against room for {room:,.0f}",
            ),
        )
        return steps, verdicts

    def _shift(self) -> tuple[Step, ...]:
        moved = 60 / self.shift_ratio_per_minute
        before = min(1.0, self.scale_up_seconds / moved)
        schedule: dict[str, StepValue] = {
            f"{minute:g}": min(1.0, self.shift_ratio_per_minute * minute) for minute in (1, 2, 3, 5, 10, 15, 30)
        }
        return (
            Step("shift_seconds", moved, "s", "all of a region's traffic at the limited rate"),
            Step("shifted_by_minute", schedule, "ratio", "share that has moved by each minute after the loss"),
            Step(
                "shift_ratio_before_scale_up",
                before,
                "ratio",
                "share that arrives before more instances do; it must fit into what is running",
            ),
        )


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

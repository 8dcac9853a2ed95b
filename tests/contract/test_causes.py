"""Every root cause keeps the one form: registered, told in words, and blind without its signals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from analytics.rootcause import CAUSES, Observations, Scene
from analytics.rootcause.form import Cause
from analytics.rootcause.observations import DIMENSIONS, STAGES

#: The ids that commands, the API and dashboards rely on.
IDS = [
    "traffic_spike",
    "fewer_instances",
    "slow_start",
    "routing_hotspot",
    "long_requests",
    "prefix_miss",
    "preemption",
    "admission_blocked",
    "slow_prefill",
    "release_regression",
    "config_regression",
    "noisy_neighbour",
    "gpu_throttle",
    "gpu_fault",
    "grammar_cpu",
    "adapter_swap",
    "speculation_overhead",
    "acceptance_drop",
    "kv_transfer_stall",
    "cache_tier_slow",
    "gateway_overhead",
    "engine_pause",
    "region_loss",
    "slow_scoring",
    "output_tail",
    "measurement_artefact",
]
#: Causes that only need to know how many requests came.
NEED_ONLY_COUNTS = {"traffic_spike", "measurement_artefact"}
every_cause = pytest.mark.parametrize("cause", CAUSES.values(), ids=lambda cause: cause.id)


def counts_only() -> Observations:
    """Return the poorest scene there is: requests before and during, bad and not, nothing else known."""
    return Observations(
        metric="ttft",
        start=np.datetime64("2026-03-02T13:00:00", "us"),
        end=np.datetime64("2026-03-02T13:15:00", "us"),
        step_seconds=60,
        before_steps=np.arange(0, 60),
        during_steps=np.arange(60, 75),
        seconds_before=3600.0,
        seconds_during=900.0,
        threshold=1.0,
        cells={
            "phase": np.array(["before", "during"], dtype=object),
            "requests": np.array([4000.0, 1000.0]),
            "events": np.array([4000.0, 1000.0]),
            "bad": np.array([40.0, 400.0]),
            "bad_requests": np.array([40.0, 400.0]),
        },
    )


def test_the_registry_holds_exactly_the_ids_of_the_contract() -> None:
    assert sorted(CAUSES) == sorted(IDS)


@every_cause
def test_a_cause_tells_itself_in_words(cause: Cause) -> None:
    assert CAUSES[cause.id] is cause
    assert len(cause.title) > 10
    assert cause.next_step.endswith(".")
    assert cause.fix.endswith(".")
    assert cause.kind in ("traffic", "serving", "capacity")
    assert cause.needs
    assert set(cause.stages) <= set(STAGES)


@every_cause
def test_a_cause_loses_only_to_others_that_exist(cause: Cause) -> None:
    assert set(cause.loses_to) <= set(CAUSES) - {cause.id}


@every_cause
def test_a_missing_signal_means_cannot_tell_and_never_no(cause: Cause) -> None:
    found = cause.weigh(Scene(counts_only()))
    if cause.id in NEED_ONLY_COUNTS:
        return
    assert found.strength is None, f"{cause.id} claims {found.strength} without its signals"
    assert found.missing


@every_cause
def test_a_strength_lies_between_nought_and_one_and_a_segment_names_dimensions(cause: Cause) -> None:
    scene = counts_only()
    richer = replace(
        scene,
        cells={
            **scene.cells,
            "instance": np.array(["a", "a"], dtype=object),
            "region": np.array(["eu", "eu"], dtype=object),
        },
    )
    found = cause.weigh(Scene(richer))
    assert found.strength is None or 0 <= found.strength <= 1
    assert set(found.segment) <= set(DIMENSIONS)


@every_cause
def test_weighing_twice_gives_the_same(cause: Cause) -> None:
    scene = Scene(counts_only())
    assert cause.weigh(scene) == cause.weigh(scene)

"""Incidents that the public catalogue does not tell: traffic, lost instances, releases, configuration, coincidence."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from collector.answers.explain import explain
from collector.store.reader import DuckReader
from tests.unit.analytics.rootcause.incident_stories import CALM_SECONDS, END, INCIDENT_SECONDS, MODEL, ONSET, Story


def _wait(story: Story, mask: np.ndarray, seconds: float, depth: float = 10, running: float = 16) -> None:
    story.r["queue"] = story.r["queue"] + np.where(mask, story.rng.gamma(3, seconds / 3, len(mask)), 0)
    story.s["queue_depth"] = np.where(story.busy, story.rng.normal(depth, 1, len(story.s["t"])), story.s["queue_depth"])
    story.s["running"] = np.where(story.busy, running, story.s["running"])


def _more(story: Story, factor: float, mask: np.ndarray) -> None:
    chosen = np.flatnonzero(mask)
    extra = story.rng.choice(chosen, int(len(chosen) * factor))
    rows = np.concatenate([np.arange(len(story.t)), extra])
    late = story.rng.uniform(CALM_SECONDS, CALM_SECONDS + INCIDENT_SECONDS, len(extra))
    times = np.concatenate([story.t, late])
    order = np.argsort(times)
    story.t = times[order]
    story.r = {name: values[rows][order] for name, values in story.r.items()}


def more_traffic(story: Story) -> None:
    _more(story, 0.6, story.during)
    _wait(story, story.during, 5)


def one_tenant_brings_more(story: Story) -> None:
    _more(story, 2.5, story.during & (story.r["tenant"] == "acme"))
    _wait(story, story.during, 5)


def more_traffic_beside_a_harmless_release(story: Story) -> None:
    more_traffic(story)
    story.changes.append({"kind": "release", "summary": "v2", "version": "v2"})
    story.r["version"] = np.where(story.on("b"), "v2", story.r["version"]).astype(object)


def half_the_instances_stop(story: Story) -> None:
    moved = story.during & np.isin(story.r["instance"], ["c", "d"])
    heirs = np.where(np.arange(len(story.t)) % 2, "a", "b")
    story.r["instance"] = np.where(moved, heirs, story.r["instance"]).astype(object)
    story.gone = {"c": float(CALM_SECONDS), "d": float(CALM_SECONDS)}
    _wait(story, story.during, 4)


def half_the_instances_get_a_slow_version(story: Story) -> None:
    new = story.on("c") | story.on("d")
    story.r["version"] = np.where(new, "v2", story.r["version"]).astype(object)
    story.r["prefill"] = np.where(new, story.r["prefill"] * 4 + 0.3, story.r["prefill"])
    story.changes.append({"kind": "release", "summary": "v2", "version": "v2"})


def fewer_seats_are_configured(story: Story) -> None:
    story.s["running"] = story.rng.normal(8, 1, len(story.s["t"]))
    _wait(story, story.during, 5, running=3)
    story.changes.append({"kind": "config", "summary": "max-num-seqs 3"})


def a_gpu_falls_off_the_bus(story: Story) -> None:
    story.r["instance"] = np.where(story.on("d"), "a", story.r["instance"]).astype(object)
    story.gone = {"d": CALM_SECONDS + 5.0}
    story.gpu_events.append({"at": "d", "kind": "xid", "code": 79})
    _wait(story, story.on("a"), 4)


@pytest.mark.parametrize(
    ("bend", "cause", "segment", "kind"),
    [
        (more_traffic, "traffic_spike", {}, "traffic"),
        (one_tenant_brings_more, "traffic_spike", {"tenant": "acme"}, "traffic"),
        (more_traffic_beside_a_harmless_release, "traffic_spike", {}, "traffic"),
        (half_the_instances_stop, "fewer_instances", {}, "capacity"),
        (half_the_instances_get_a_slow_version, "release_regression", {"model_version": "v2"}, "serving"),
        (fewer_seats_are_configured, "config_regression", {}, "serving"),
        (a_gpu_falls_off_the_bus, "gpu_fault", {"instance": "d"}, "serving"),
    ],
)
def test_the_cause_its_segment_and_kind_are_named(
    bend: Callable[[Story], None], cause: str, segment: dict[str, str], kind: str
) -> None:
    story = Story()
    bend(story)
    answer = explain(DuckReader(story.store()), END, model=MODEL, start=ONSET, end=END)
    causes = answer["causes"]
    assert isinstance(causes, list)
    assert (causes[0]["cause"], causes[0]["segment"], answer["change_kind"]) == (cause, segment, kind)
    if cause in ("release_regression", "config_regression"):
        assert causes[0]["related_change"]["placebo_rate"] < 0.2

"""Detection: a real rise is found with its onset, chance and overdispersed noise are not."""

from __future__ import annotations

import numpy as np

from analytics.rootcause import compare, overdispersion, scan, spikes
from analytics.rootcause.baseline import baseline_for
from analytics.rootcause.timeline import calm_steps, step_for, threshold_of, timeline_of


def series(
    rate: float, late: float, steps: int = 120, begins: int = 90, ends: int = 105, seed: int = 2
) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    total = rng.poisson(100, steps).astype(float)
    share = np.full(steps, rate)
    share[begins:ends] = late
    return total, rng.binomial(total.astype(int), share).astype(float)


def test_the_interval_and_its_onset_are_found() -> None:
    spike = scan(*series(0.01, 0.3), 1.0)
    assert spike is not None
    assert (spike.first, spike.last) == (90, 105)
    assert spike.onset_low <= 90 <= spike.onset_high
    assert spike.ratio > 15


def test_chance_is_no_spike() -> None:
    assert all(scan(*series(0.01, 0.01, seed=seed), 1.0) is None for seed in range(40))


def test_two_spikes_are_told_apart() -> None:
    total, bad = series(0.01, 0.3)
    bad[30:40] = np.round(total[30:40] * 0.2)
    found = spikes(total, bad, 1.0)
    assert sorted((spike.first, spike.last) for spike in found) == [(30, 40), (90, 105)]


def test_clumped_bad_events_raise_the_overdispersion_and_lower_z() -> None:
    total = np.full(60, 100.0)
    even, clumped = np.full(60, 2.0), np.where(np.arange(60) % 10 == 0, 20.0, 0.0)
    assert overdispersion(total, even) == 1.0
    assert overdispersion(total, clumped) > 8
    assert compare((6000, 120), (1500, 90), 8.0).z < compare((6000, 120), (1500, 90), 1.0).z


def test_a_change_needs_effect_as_well_as_significance() -> None:
    assert not compare((1e6, 10_000), (1e6, 11_500), 1.0).significant
    assert compare((10_000, 100), (2_000, 100), 1.0).significant
    assert not compare((100, 1), (20, 3), 1.0).significant


def test_an_incident_in_the_history_neither_sets_the_threshold_nor_stays_in_the_baseline() -> None:
    rng = np.random.default_rng(5)
    steps = np.repeat(np.arange(60), 20)
    values = np.where((steps >= 20) & (steps < 35), rng.uniform(5, 60, 1200), rng.lognormal(-1.5, 0.4, 1200))
    edges = 1.05 ** np.ceil(np.log(values) / np.log(1.05))
    timeline = timeline_of(steps, edges, np.ones(1200), 60)
    assert timeline is not None
    everything = np.ones(60, dtype=bool)
    threshold = threshold_of(timeline, everything)
    assert threshold is not None
    assert threshold < 1.5
    calm = set(calm_steps(timeline, everything, threshold).tolist())
    assert not calm & set(range(21, 34))
    assert len(calm) > 35


def test_without_history_the_rest_of_the_record_is_the_baseline() -> None:
    timeline = timeline_of(np.repeat(np.arange(30), 10), np.full(300, 0.5), np.ones(300), 2)
    assert timeline is not None
    found = baseline_for(timeline, 0, 10)
    assert found is not None
    assert found.parts == ("rest",)
    assert found.before.min() >= 10


def test_steps_follow_the_window() -> None:
    assert [step_for(seconds) for seconds in (5, 20, 60, 900)] == [1, 2, 10, 60]


def test_two_incidents_that_fill_most_of_a_record_do_not_hide_each_other() -> None:
    total, bad = np.zeros(82), np.zeros(82)
    total[:8], total[8:16], total[16:44], total[44:66], total[66:82] = 2.0, 10.0, 2.0, 0.5, 6.0
    bad[8:44], bad[66:82] = total[8:44], total[66:82]
    assert spikes(total, bad, 1.0) == [], "each is most of the other's rest, and of most of the record"
    found = spikes(total, bad, 1.0, usual=0.02)
    assert sorted((spike.first, spike.last) for spike in found) == [(8, 44), (66, 82)]


def test_what_is_calmer_than_the_rest_is_no_spike_though_it_is_worse_than_usual() -> None:
    total = np.full(60, 10.0)
    bad = np.where(np.arange(60) < 30, 10.0, 3.0)
    assert [(spike.first, spike.last) for spike in spikes(total, bad, 1.0, usual=0.1)] == [(0, 30)]

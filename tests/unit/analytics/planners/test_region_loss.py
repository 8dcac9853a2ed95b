"""Losing a region: who absorbs what, when, and who may not move."""

from __future__ import annotations

import pytest

from analytics.planners.region_loss import (
    Region,
    daily_requests,
    deferrable_room,
    load_by_hour,
    loss_of,
    place_deferrable,
)
from analytics.planners.relay import chain_seconds


def _even(count: int, share: float) -> dict[str, Region]:
    return {str(place): Region(str(place), 100.0, 100.0 * share, 12.0, place, 0.0) for place in range(count)}


@pytest.mark.parametrize("count", [3, 4, 6])
def test_even_regions_at_the_ceiling_just_absorb_a_loss(count: int) -> None:
    regions = _even(count, 1 - 1 / count)
    loss = loss_of("0", regions, 0.3, 1.0)
    assert loss.utilisation == pytest.approx(1.0)
    assert loss.served_ratio == pytest.approx(1.0)
    assert loss_of("0", _even(count, 1 - 1 / count + 0.05), 0.3, 1.0).served_ratio < 1


def test_peaks_in_different_hours_help() -> None:
    together = _even(3, 0.9)
    apart = {name: Region(name, 100.0, 90.0, 8.0 * place, place, 0.0) for place, name in enumerate(together)}
    assert loss_of("0", apart, 0.3, 1.0).utilisation < loss_of("0", together, 0.3, 1.0).utilisation


def test_residents_without_a_neighbour_in_their_zone_are_not_served() -> None:
    regions = _even(3, 0.3)
    regions["0"] = Region("0", 100.0, 30.0, 12.0, 0, 0.4)
    assert loss_of("0", regions, 0.3, 1.0).served_ratio == pytest.approx(0.6)
    regions["1"] = Region("1", 100.0, 30.0, 12.0, 0, 0.0)
    assert loss_of("0", regions, 0.3, 1.0).served_ratio == pytest.approx(1.0)


def test_pausing_deferrable_work_makes_room() -> None:
    regions = _even(3, 0.8)
    assert loss_of("0", regions, 0.3, 0.8).served_ratio > loss_of("0", regions, 0.3, 1.0).served_ratio


def test_a_lone_region_has_nobody_to_take_over() -> None:
    assert loss_of("0", _even(1, 0.5), 0.3, 1.0).served_ratio == 0


def test_load_runs_from_peak_to_trough() -> None:
    load = load_by_hour(Region("a", 1, 10.0, 6.0, 0, 0), 0.2)
    assert load.max() == pytest.approx(10.0)
    assert load.argmax() == 6
    assert load.min() == pytest.approx(2.0)


def test_deferred_work_fits_under_the_ceiling_only() -> None:
    regions = _even(2, 0.5)
    assert deferrable_room(regions, 1.0, 1.0, 0.5) == pytest.approx(0)
    assert deferrable_room(regions, 1.0, 1.0, 1.0) == pytest.approx(daily_requests(regions, 1.0))


@pytest.mark.parametrize("hops", [1, 3, 12])
def test_a_relay_takes_one_copy_and_a_chunk_for_each_further_hop(hops: int) -> None:
    assert chain_seconds(100e9, 1e9, 1e9, hops) == pytest.approx(100 + hops - 1)


def test_deferrable_work_moves_to_where_it_is_night() -> None:
    regions = {
        "east": Region("east", 100.0, 90.0, 3.0, 0, 0.0),
        "west": Region("west", 300.0, 90.0, 15.0, 1, 0.0),
    }
    placed = place_deferrable(regions, 0.2, 0.3)
    assert sum(placed.shares.values()) == pytest.approx(1)
    assert placed.shares["west"] > placed.shares["east"]
    assert placed.moved_ratio > 0
    assert placed.level < 0.9


def test_nothing_deferrable_moves_nothing() -> None:
    placed = place_deferrable(_even(3, 0.5), 0.3, 0.0)
    assert placed.moved_ratio == 0
    assert placed.level == pytest.approx(0.5)

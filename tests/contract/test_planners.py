"""What every planner promises, whichever it is: units, monotone steps, round trips, clear errors, no NaN."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator, Mapping
from dataclasses import FrozenInstanceError, replace

import pytest

from analytics.planners import PLANNERS, InputField, Plan, Planner, PlannerInputs, StepValue
from analytics.planners.report import plan_report
from analytics.planners.settings import plain_inputs
from signals.errors import ConfigError, InputError, UnknownNameError

RANDOM_CASES = 1_000
every_planner = pytest.mark.parametrize("planner", PLANNERS.values(), ids=list(PLANNERS))


def _amount(entry: InputField, rng: random.Random) -> float:
    """Draw within the range, by order of magnitude where it spans several."""
    low, high = entry.low, entry.high
    if low > 0 and high / low > 100:
        drawn = math.exp(rng.uniform(math.log(low), math.log(high)))
    elif low == 0 and high > 100:
        drawn = rng.choice([0.0, math.expm1(rng.uniform(0, math.log1p(high)))])
    else:
        drawn = rng.choice([low, high, rng.uniform(low, high), rng.uniform(low, high)])
    return min(max(round(drawn) if entry.kind == "whole" else drawn, low), high)


def _random_inputs(planner: Planner, rng: random.Random) -> PlannerInputs:
    values: dict[str, object] = {}
    for entry in planner.fields():
        if entry.kind == "named" and isinstance(entry.default, tuple):
            values[entry.name] = tuple((str(pair[0]), _amount(entry, rng)) for pair in entry.default)  # type: ignore[index]
        elif entry.kind == "numbers" and isinstance(entry.default, tuple):
            values[entry.name] = tuple(_amount(entry, rng) for _ in entry.default)
        else:
            values[entry.name] = _amount(entry, rng)
    return planner.inputs(**values)


def _numbers(value: StepValue) -> Iterator[float]:
    if isinstance(value, Mapping):
        for each in value.values():
            yield from _numbers(each)
    elif value is not None:
        yield float(value)


def _assert_finite(plan: Plan, said: PlannerInputs) -> None:
    for step in plan.steps:
        for figure in _numbers(step.value):
            assert math.isfinite(figure), f"{step.name} = {step.value} from {said}"


@every_planner
def test_names_itself_as_registered(planner: Planner) -> None:
    assert PLANNERS[planner.name] is planner
    assert planner.title and planner.question.endswith("?")
    assert planner.plan().planner == planner.name


@every_planner
def test_every_input_has_unit_range_help_and_source(planner: Planner) -> None:
    for entry in planner.fields():
        assert entry.unit and entry.help.endswith(".") and entry.source
        assert entry.low < entry.high


@every_planner
def test_every_step_has_a_unit_and_a_because(planner: Planner) -> None:
    plan = planner.plan()
    assert plan.headline
    assert len({step.name for step in plan.steps}) == len(plan.steps)
    for step in plan.steps:
        assert step.unit and step.because
    for verdict in plan.verdicts:
        assert verdict.verdict and verdict.because


@every_planner
def test_the_deciding_step_exists(planner: Planner) -> None:
    assert planner.plan().value(planner.decides) is not None


@every_planner
def test_a_thousand_random_valid_inputs_give_finite_figures(planner: Planner) -> None:
    rng = random.Random(20_261_129)
    for _ in range(RANDOM_CASES):
        inputs = _random_inputs(planner, rng)
        _assert_finite(planner.plan(inputs), inputs)


@every_planner
def test_steps_move_as_declared(planner: Planner) -> None:
    rng = random.Random(7)
    fields = {entry.name: entry for entry in planner.fields()}
    assert planner.monotone
    for declared in planner.monotone:
        for _ in range(20):
            inputs = _random_inputs(planner, rng)
            pair = sorted(_amount(fields[declared.input], rng) for _ in range(2))
            low, high = (
                planner.plan(replace(inputs, **{declared.input: each})).number(declared.step)  # type: ignore[type-var]
                for each in pair
            )
            if declared.falls:
                low, high = high, low
            assert low <= high * (1 + 1e-9) + 1e-12, declared


@every_planner
def test_inputs_survive_json(planner: Planner) -> None:
    rng = random.Random(3)
    for inputs in [planner.inputs(), *(_random_inputs(planner, rng) for _ in range(20))]:
        assert planner.read(json.loads(json.dumps(plain_inputs(inputs)))) == inputs


@every_planner
def test_the_report_survives_json(planner: Planner) -> None:
    report = plan_report(planner.plan())
    assert json.loads(json.dumps(report, allow_nan=False)) == report
    assert set(report) == {"planner", "inputs", "steps", "verdicts", "headline"}


@every_planner
def test_text_settings_read_like_numbers(planner: Planner) -> None:
    for entry in planner.fields():
        value = plain_inputs(planner.inputs())[entry.name]
        if isinstance(value, list):
            text = ",".join(str(each) for each in value)
        elif isinstance(value, dict):
            text = ",".join(f"{key}:{each}" for key, each in value.items())
        else:
            text = str(value)
        assert planner.read({entry.name: text}) == planner.inputs()


@every_planner
def test_planning_changes_no_input(planner: Planner) -> None:
    inputs = planner.inputs()
    before = plain_inputs(inputs)
    settings = dict(before)
    assert planner.plan(inputs) == planner.plan(inputs)
    planner.plan(settings)
    assert settings == before == plain_inputs(inputs)
    with pytest.raises(FrozenInstanceError):
        setattr(inputs, planner.fields()[0].name, 1)


@every_planner
def test_a_value_out_of_range_names_field_and_range(planner: Planner) -> None:
    for entry in planner.fields():
        over = entry.high * 2 + 1
        bad: object = {"a": over} if entry.kind == "named" else [over] if entry.kind == "numbers" else over
        with pytest.raises(InputError) as caught:
            planner.read({entry.name: bad})  # type: ignore[dict-item]
        assert entry.name in caught.value.message
        assert f"from {entry.low:g} to {entry.high:g}" in caught.value.message


@every_planner
def test_text_that_is_no_number_names_the_field(planner: Planner) -> None:
    entry = planner.fields()[0]
    with pytest.raises(InputError, match=entry.name):
        planner.read({entry.name: "plenty"})
    with pytest.raises(InputError, match=entry.name):
        planner.read({entry.name: math.nan})


@every_planner
def test_an_unknown_input_names_the_nearest(planner: Planner) -> None:
    name = planner.fields()[0].name
    with pytest.raises(ConfigError) as caught:
        planner.read({name + "x": 1})
    assert f"did you mean {name!r}" in caught.value.message


@every_planner
def test_inputs_of_another_planner_are_refused(planner: Planner) -> None:
    other = next(each for each in PLANNERS.values() if each is not planner)
    with pytest.raises(TypeError):
        planner.plan(other.inputs())


@every_planner
def test_an_unknown_step_names_the_nearest(planner: Planner) -> None:
    plan = planner.plan()
    with pytest.raises(UnknownNameError, match=plan.steps[0].name):
        plan.value(plan.steps[0].name + "s")

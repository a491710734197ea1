"""Steps of a simulation in which nothing new happens take one line."""

from dataclasses import replace

import pytest

from evictd.core.model.decision import Wait
from evictd.core.model.finding import ThresholdFinding
from evictd.core.units.quantity import NANO, Quantity
from evictd.render.simulation.steps import folded, folded_text, is_calm, nearest_text, repeats
from evictd.simulation import SimulatedCycle
from tests.stories import played

NAMES = (
    "ten-minutes",
    "protected-culprit",
    "budget-refusal",
    "owner-backoff",
    "soft-grace",
    "thrashing",
    "missing-stats",
)


def groups_of(name: str) -> list[tuple[SimulatedCycle, ...]]:
    return [group for _, group in folded(played(name, None)[1])]


def decisions(cycle: SimulatedCycle) -> list[object]:
    return [each for turn in cycle.turns for each in turn.step.decisions if not isinstance(each, Wait)]


@pytest.mark.parametrize("name", NAMES)
def test_only_steps_that_decide_nothing_are_folded_and_none_is_lost(name: str) -> None:
    _, cycles = played(name, None)
    groups = groups_of(name)
    assert [cycle for group in groups for cycle in group] == list(cycles)
    for group in groups:
        assert len({cycle.state.node_conditions for cycle in group}) == 1
        assert len(group) == 1 or not any(map(decisions, group))
    for cycle, before in zip(cycles[1:], cycles, strict=False):
        assert not (decisions(cycle) and (is_calm(cycle) or repeats(cycle, before)))


def test_a_line_of_calm_steps_says_what_came_nearest() -> None:
    calm = next(group for group in groups_of("ten-minutes") if len(group) > 1)
    assert folded_text(calm) == (
        "6 readings, no threshold met, conditions: none; nearest: nodefs.available, 4.02Gi above its hard threshold at 2m0s"
    )


def test_what_falls_comes_nearest_before_what_stands_still() -> None:
    """It named imagefs, although only memory fell and its threshold was crossed eight minutes later."""
    _, (first, *_) = played("ten-minutes", None)
    (turn,) = first.turns
    findings = turn.step.findings
    memory = next(
        each for each in findings if isinstance(each, ThresholdFinding) and "memory" in each.threshold.signal.value
    )
    less = replace(memory, available=Quantity(memory.available.nano - NANO, memory.available.format))
    step = replace(turn.step, findings=tuple(less if each is memory else each for each in findings))
    then = replace(first, turns=(replace(turn, step=step),))
    assert "nearest: nodefs.available" in folded_text([then])
    assert "nearest: memory.available" in folded_text([then], first)


def test_a_line_of_repeated_steps_says_what_is_short_now() -> None:
    assert folded_text(groups_of("protected-culprit")[-1]) == (
        "3 readings as before, nothing is decided: memory.available 40Mi, hard: met"
    )
    repeated = [
        group[0]
        for group, before in zip(groups_of("ten-minutes")[1:], groups_of("ten-minutes"), strict=False)
        if repeats(group[0], before[-1])
    ]
    assert [folded_text([cycle]) for cycle in repeated] == [
        "1 reading as before, nothing is decided: memory.available 585Mi, soft 1m0s: met, 20s left"
    ]


def test_a_step_with_another_reason_is_no_repetition() -> None:
    _, cycles = played("protected-culprit", None)
    assert next(folded(cycles[2:]))[0] is False, "the first step is told in full"
    assert not repeats(cycles[1], cycles[0])
    assert repeats(cycles[2], cycles[1])


def test_without_a_threshold_nothing_is_nearest() -> None:
    assert nearest_text(()) == ""

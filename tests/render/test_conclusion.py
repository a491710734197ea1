"""Calm steps of a simulation take one line, and its end says what came of it."""

from dataclasses import replace

from evictd.core.model.decision import ReclaimNode, Wait
from evictd.core.model.finding import ThresholdFinding
from evictd.core.model.observation import Reclaim
from evictd.render.conclusion import calm_text, conclusion, folded, is_calm
from tests.stories import check_golden, played


def test_calm_steps_are_folded_by_their_conditions_and_nothing_else_is() -> None:
    _, cycles = played("ten-minutes", None)
    groups = list(folded(cycles))
    assert [cycle for group in groups for cycle in group] == list(cycles)
    for group in groups:
        assert len(group) == 1 or all(is_calm(cycle) for cycle in group)
        assert len({cycle.state.node_conditions for cycle in group}) == 1
    for cycle in cycles:
        busy = [each for turn in cycle.turns for each in turn.step.decisions if not isinstance(each, Wait)]
        assert not (busy and is_calm(cycle))
    lines = [calm_text(group) for group in groups if len(group) > 1]
    assert lines[0] == (
        "6 readings, no threshold met, conditions: none; nearest: nodefs.available, 4.02Gi above its hard threshold at 2m0s"
    )


def test_the_end_says_who_went_and_what_is_still_short() -> None:
    stories = ("ten-minutes", "protected-culprit", "budget-refusal", "thrashing", "soft-grace")
    text = "".join("\n".join((name, *conclusion(played(name, None)[1]), "\n")) for name in stories)
    check_golden("conclusion.txt", text)


def test_a_collection_is_called_by_what_it_frees() -> None:
    _, cycles = played("ten-minutes", None)
    (turn,) = cycles[0].turns
    threshold = next(each.threshold for each in turn.step.findings if isinstance(each, ThresholdFinding))
    begun = [
        ReclaimNode(actions=actions, threshold=threshold)
        for actions in ((Reclaim.PAGE_CACHE,), (Reclaim.CONTAINERS, Reclaim.ROTATED_LOGS), (Reclaim.PAGE_CACHE,))
    ]
    cycle = replace(cycles[0], turns=(replace(turn, step=replace(turn.step, decisions=tuple(begun))),))
    assert conclusion([cycle])[1:3] == (
        "Collected 2 times, first at 0s: clean page cache.",
        "Collected 1 time, first at 0s: dead containers and rotated logs.",
    )


def test_an_empty_scenario_has_no_conclusion() -> None:
    assert conclusion(()) == ()

"""The end of a simulation says what came of it."""

from dataclasses import replace

from evictd.core.model.decision import ReclaimNode
from evictd.core.model.finding import ThresholdFinding
from evictd.core.model.observation import Reclaim
from evictd.render.simulation.conclusion import conclusion
from tests.stories import check_golden, played


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

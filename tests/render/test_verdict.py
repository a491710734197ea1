"""Whether an eviction was needed, as a sentence."""

import pytest

from evictd.core.units.duration import MINUTE
from evictd.render.verdict import EvictionVerdict, Need

GROWN = "had everything gone on growing for 5m0s as in the minute before"


@pytest.mark.parametrize(
    ("need", "fewest", "text"),
    [
        (Need.NEEDED, ("a/x",), f"its end was needed: {GROWN}, its end alone would have relieved the node"),
        (
            Need.NEEDED,
            ("a/x", "a/y"),
            f"its end was needed: {GROWN}, the fewest pods that relieve the node are a/x, a/y",
        ),
        (Need.ANOTHER_POD, ("a/y",), f"{GROWN}, the end of a/y in its place would have relieved the node"),
        (Need.NOTHING_SHORT, (), f"its end was not needed: {GROWN}, no threshold would have been met"),
        (
            Need.NO_POD_HELPS,
            (),
            f"{GROWN}, no end of any pod would have relieved the node: the host or a protected pod is the cause",
        ),
    ],
    ids=lambda each: each.value if isinstance(each, Need) else "",
)
def test_each_verdict_is_a_sentence(need: Need, fewest: tuple[str, ...], text: str) -> None:
    assert EvictionVerdict(need=need, pod="a/x", fewest=fewest, played=5 * MINUTE).text == text

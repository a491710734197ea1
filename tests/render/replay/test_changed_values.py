"""What differs between two recorded values, in words."""

import pytest

from evictd.render.replay.changed_values import changed_values

CAUSE = {
    "reason": "pressure",
    "threshold": {"signal": "memory.available", "gracePeriodNanoseconds": 0, "minReclaim": {"quantity": "200Mi"}},
    "usage": "50Mi",
}


def test_only_the_part_that_differs_is_written_and_in_words() -> None:
    """Both maps were printed as JSON after `the numbers behind the eviction` (world 22 with another minimum reclaim)."""
    now = {**CAUSE, "threshold": {**CAUSE["threshold"], "minReclaim": {"quantity": "500Mi"}}}  # type: ignore[dict-item]
    assert list(changed_values(CAUSE, now)) == ["the minimum reclaim of the threshold: 200Mi -> 500Mi"]
    grace = {**CAUSE, "usage": "1Mi", "threshold": {"gracePeriodNanoseconds": 90_000_000_000, "minReclaim": None}}
    assert list(changed_values(CAUSE, grace)) == [
        "the grace period of the threshold: 0s -> 1m30s",
        "the minimum reclaim of the threshold: 200Mi -> none",
        "its usage: 50Mi -> 1Mi",
    ]


@pytest.mark.parametrize(
    ("then", "now", "text"),
    [
        (["a"], [], "a -> nothing"),
        (None, "x\x1b", "none -> x\\x1b"),
        (False, True, "false -> true"),
        ({"quantity": "1Gi"}, {"fraction": 0.1}, "1Gi -> 10%"),
        ({"fraction": (0.1).hex()}, {"fraction": (0.15).hex()}, "10% -> 15%"),
        ({"quantity": "1Gi", "fraction": "0x0.0p+0"}, {"fraction": "x"}, "1Gi -> 0"),
        ({"unknown": 1}, {"unknown": 2}, "unknown: 1 -> 2"),
    ],
)
def test_values(then: object, now: object, text: str) -> None:
    assert list(changed_values(then, now)) == [text]

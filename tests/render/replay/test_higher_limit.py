"""Whether a pod is evicted for a higher limit than it was."""

from typing import Any

import pytest

from evictd.render.replay.higher_limit import has_higher_limit


def _evicts(limit: str, uid: str = "a", available: str | None = None) -> dict[str, Any]:
    return {"kind": "EvictPod", "pod": {"uid": uid}, "because": {"limit": limit, "available": available}}


@pytest.mark.parametrize(
    ("then", "now", "higher"),
    [
        (_evicts("1Gi"), _evicts("2Gi"), True),
        (_evicts("2Gi"), _evicts("1Gi"), False),
        (_evicts("1Gi"), _evicts("2Gi", "b"), False),
        (_evicts("?"), _evicts("2Gi"), False),
        ({"kind": "EvictPod"}, _evicts("2Gi"), False),
        (_evicts("824Mi", available="820Mi"), _evicts("1Gi", available="1020Mi"), False),
        (_evicts("1Gi", available="1020Mi"), _evicts("1Gi", available="820Mi"), True),
    ],
    ids=["higher", "lower", "another pod", "no amount", "damaged", "other formula", "other formula, sooner"],
)
def test_a_higher_limit_is_one_of_the_same_pod(then: dict[str, Any], now: dict[str, Any], *, higher: bool) -> None:
    assert has_higher_limit([then], [now]) is higher

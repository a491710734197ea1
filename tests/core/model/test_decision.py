"""Reasons as data, and the evictions among decisions."""

import pytest

from evictd.core.model.decision import EvictionCause, EvictionReason, EvictPod, Wait, begun_evictions
from tests.playbook import pod, threshold


@pytest.mark.parametrize(
    ("because", "label"),
    [
        (EvictionCause(reason=EvictionReason.PRESSURE, threshold=threshold("pid.available", "5")), "pid.available"),
        (EvictionCause(reason=EvictionReason.EMPTY_DIR_LIMIT), "emptydirfs.limit"),
        (EvictionCause(reason=EvictionReason.POD_LIMIT), "ephemeralpodfs.limit"),
        (EvictionCause(reason=EvictionReason.CONTAINER_LIMIT), "ephemeralcontainerfs.limit"),
    ],
)
def test_an_eviction_is_counted_under_its_signal_or_limit(because: EvictionCause, label: str) -> None:
    """The label of kubelet_evictions."""
    assert because.signal_label == label


def test_an_eviction_that_only_shortens_a_grace_period_does_not_begin_one() -> None:
    because = EvictionCause(reason=EvictionReason.POD_LIMIT)
    first, second = (
        EvictPod(pod=pod(name), grace_period_seconds=1, message="", because=because, shortens=shortens)
        for name, shortens in (("begins", False), ("leaves", True))
    )
    assert list(begun_evictions([Wait(nanoseconds=1), second, first])) == [first]

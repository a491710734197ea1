"""Reasons as data."""

import pytest

from evictd.core.model.decision import EvictionCause, EvictionReason
from tests.playbook import threshold


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

"""Missing is the default of every number."""

from dataclasses import fields

import pytest

from evictd.core.stats import (
    ContainerStats,
    DiskUsage,
    FsStats,
    MemoryStats,
    NodeGauges,
    NodeStats,
    RlimitStats,
    VolumeStats,
)


@pytest.mark.parametrize("kind", [MemoryStats, FsStats, RlimitStats, NodeGauges])
def test_nothing_read_is_nothing_said(kind: type[MemoryStats]) -> None:
    """Never zero."""
    empty = kind()
    assert {getattr(empty, field.name) for field in fields(kind)} == {None}


def test_parts_of_a_pod_may_be_missing_one_by_one() -> None:
    """A container without a writable layer, a volume without a number."""
    assert ContainerStats("c") == ("c", None, None, None)
    assert VolumeStats("v") == ("v", None, None)
    assert DiskUsage() == (None, None)
    assert NodeStats().memory is None

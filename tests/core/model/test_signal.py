"""Each signal has its row, and the row says what the name says."""

from evictd.core.model.signal import (
    MEMORY_SIGNALS,
    RESOURCES,
    SIGNALS,
    STALLS,
    Filesystem,
    NodeCondition,
    Resource,
    Signal,
    Unit,
    signal_named,
)
from evictd.core.units.quantity import Format


def test_every_signal_and_resource_has_a_row() -> None:
    """In the order of the enumeration, which is that of the documentation."""
    assert list(SIGNALS) == list(Signal)
    assert list(RESOURCES) == list(Resource)
    assert {spec.condition for spec in SIGNALS.values()} == set(NodeCondition)


def test_a_disk_signal_names_its_filesystem() -> None:
    """Space and inodes of each."""
    disks = {signal: spec.filesystem for signal, spec in SIGNALS.items() if spec.filesystem is not None}
    assert {signal.value.partition(".")[0]: filesystem for signal, filesystem in disks.items()} == {
        filesystem.value: filesystem for filesystem in Filesystem
    }
    assert len(disks) == 2 * len(Filesystem)
    assert not MEMORY_SIGNALS & set(disks)


def test_a_stall_signal_is_named_after_what_it_reads() -> None:
    """Scope, resource, type and average, in this order."""
    for signal, stall in STALLS.items():
        expected = f"{stall.scope.value}.{stall.resource.value}.{stall.type.value}.avg{stall.average}"
        assert (signal.value, SIGNALS[signal].resource.value) == (expected, stall.resource.value)
        assert SIGNALS[signal].unit is Unit.SHARE
        assert SIGNALS[signal].own


def test_only_amounts_of_bytes_are_binary() -> None:
    """As the kubelet writes them."""
    binary = {resource for resource, spec in RESOURCES.items() if spec.format is Format.BINARY_SI}
    assert binary == {Resource.MEMORY, Resource.EPHEMERAL_STORAGE, Resource.SWAP}


def test_a_signal_is_found_by_its_name() -> None:
    assert signal_named("memory.available") is Signal.MEMORY_AVAILABLE
    assert signal_named("memory.free") is None

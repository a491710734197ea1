"""The signal tables are complete."""

from evictd.core.model.signal import (
    CONTAINERFS_SIGNALS,
    MEMORY_SIGNALS,
    RESOURCE_TO_CONDITION,
    RESOURCE_TO_FORMAT,
    SIGNAL_TO_CONDITION,
    SIGNAL_TO_FILESYSTEM,
    SIGNAL_TO_RESOURCE,
    NodeCondition,
    Resource,
    Signal,
)


def test_every_signal_and_resource_is_in_every_table() -> None:
    """A new signal must be added to each table."""
    assert set(SIGNAL_TO_RESOURCE) == set(SIGNAL_TO_CONDITION) == set(Signal)
    assert set(RESOURCE_TO_CONDITION) == set(RESOURCE_TO_FORMAT) == set(Resource)
    assert set(SIGNAL_TO_CONDITION.values()) == set(NodeCondition)


def test_disk_signals_name_their_filesystem() -> None:
    """Six of nine."""
    assert {signal.value.partition(".")[0] for signal in SIGNAL_TO_FILESYSTEM} == {"nodefs", "imagefs", "containerfs"}
    assert len(SIGNAL_TO_FILESYSTEM) == 6
    assert set(SIGNAL_TO_FILESYSTEM) >= CONTAINERFS_SIGNALS
    assert not MEMORY_SIGNALS & set(SIGNAL_TO_FILESYSTEM)

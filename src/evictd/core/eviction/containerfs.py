"""Derives the thresholds of the container filesystem from those of nodefs or imagefs.

Users cannot set any: they follow nodefs or imagefs, whichever the writable layers live on (kubelet
`UpdateContainerFsThresholds`; documentation "Node-pressure Eviction", containerfs).
"""

from collections.abc import Iterable
from functools import lru_cache

from evictd.core.eviction.reclaim import Layout, layout_of
from evictd.core.model.observation import Filesystems
from evictd.core.model.signal import SIGNALS, Filesystem, Signal
from evictd.core.model.threshold import Operator, Origin, Threshold, ThresholdValue

_FROM_NODEFS = {
    Signal.CONTAINERFS_AVAILABLE: Signal.NODEFS_AVAILABLE,
    Signal.CONTAINERFS_INODES_FREE: Signal.NODEFS_INODES_FREE,
}
_FROM_IMAGEFS = {
    Signal.CONTAINERFS_AVAILABLE: Signal.IMAGEFS_AVAILABLE,
    Signal.CONTAINERFS_INODES_FREE: Signal.IMAGEFS_INODES_FREE,
}


def ignored_container_fs_thresholds(thresholds: Iterable[Threshold]) -> tuple[Threshold, ...]:
    """Pick the user's own containerfs thresholds, which are never used."""
    return tuple(
        threshold for threshold in thresholds if SIGNALS[threshold.signal].filesystem is Filesystem.CONTAINERFS
    )


@lru_cache(maxsize=16)
def add_container_fs_thresholds(thresholds: tuple[Threshold, ...], filesystems: Filesystems) -> tuple[Threshold, ...]:
    """Return the thresholds with those of containerfs derived from their source.

    One each for hard and soft, bytes and inodes; an existing entry is replaced where it stands, a new one appended. Without a
    source the entry is inert. Where writable layers are apart but images are not, nothing is derived.
    """
    if filesystems.split_container_fs and not filesystems.dedicated_image_fs:
        return thresholds
    sources = _FROM_IMAGEFS if layout_of(filesystems) is Layout.DEDICATED else _FROM_NODEFS
    result = list(thresholds)
    for signal, source in sources.items():
        for hard in (True, False):
            _place(result, _derive(thresholds, signal, source, hard=hard), hard=hard)
    return tuple(result)


def _derive(thresholds: tuple[Threshold, ...], signal: Signal, source: Signal, *, hard: bool) -> Threshold:
    found = [threshold for threshold in thresholds if threshold.signal is source and threshold.hard is hard]
    if not found:
        return Threshold(signal=signal, value=ThresholdValue(), operator=Operator.NONE, origin=Origin.DERIVED)
    last = found[-1]
    return Threshold(
        signal=signal,
        value=last.value,
        operator=last.operator,
        grace_period=last.grace_period,
        min_reclaim=last.min_reclaim,
        origin=Origin.DERIVED,
    )


def _place(result: list[Threshold], derived: Threshold, *, hard: bool) -> None:
    for index, threshold in enumerate(result):
        if threshold.signal is derived.signal and threshold.hard is hard and threshold.origin is not Origin.DERIVED:
            result[index] = derived
            return
    result.append(derived)

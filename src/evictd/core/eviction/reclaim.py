"""Defines the layout of the filesystems, and what follows from it: devices, node-level reclaim, thresholds of containerfs.

The kubelet's tables of node-level reclaim functions for the three layouts are those of `buildSignalToNodeReclaimFuncs`.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

from evictd.core.model.config import EvictionConfig, ImageReclaim, Policy
from evictd.core.model.decision import ReclaimNode
from evictd.core.model.observation import Filesystems, Reclaim, ReclaimOutcome, SignalObservation
from evictd.core.model.signal import DISK_SIGNALS, SIGNALS, Filesystem, IdentityEnum, Resource, Signal
from evictd.core.model.stats import NodeStats
from evictd.core.model.threshold import Operator, Origin, Threshold, ThresholdValue, limit_of


class Layout(IdentityEnum):
    """How the three filesystems lie: all on one, images with writable layers apart, or images alone apart."""

    SINGLE = "single"
    DEDICATED = "dedicated"
    SPLIT = "split"


CONTAINERS_THEN_IMAGES = (Reclaim.CONTAINERS, Reclaim.IMAGES)

NODE_RECLAIM: dict[Layout, dict[Filesystem, tuple[Reclaim, ...]]] = {
    Layout.SINGLE: dict.fromkeys(Filesystem, CONTAINERS_THEN_IMAGES),
    Layout.DEDICATED: {
        Filesystem.NODEFS: (),
        Filesystem.IMAGEFS: CONTAINERS_THEN_IMAGES,
        Filesystem.CONTAINERFS: CONTAINERS_THEN_IMAGES,
    },
    Layout.SPLIT: {
        Filesystem.NODEFS: (Reclaim.CONTAINERS,),
        Filesystem.IMAGEFS: (Reclaim.IMAGES,),
        Filesystem.CONTAINERFS: (Reclaim.CONTAINERS,),
    },
}
"""Filesystem under pressure to what is collected, in this order. Memory and PIDs have nothing to collect."""


DEVICES: dict[Layout, dict[Filesystem, Filesystem]] = {
    Layout.SINGLE: dict.fromkeys(Filesystem, Filesystem.NODEFS),
    Layout.DEDICATED: {
        Filesystem.NODEFS: Filesystem.NODEFS,
        Filesystem.IMAGEFS: Filesystem.IMAGEFS,
        Filesystem.CONTAINERFS: Filesystem.IMAGEFS,
    },
    Layout.SPLIT: {
        Filesystem.NODEFS: Filesystem.NODEFS,
        Filesystem.IMAGEFS: Filesystem.IMAGEFS,
        Filesystem.CONTAINERFS: Filesystem.NODEFS,
    },
}
"""Filesystem to the device that holds it, named by the first filesystem on it."""

FREED_ON: dict[Reclaim, Filesystem] = {
    Reclaim.CONTAINERS: Filesystem.CONTAINERFS,
    Reclaim.IMAGES: Filesystem.IMAGEFS,
    Reclaim.ROTATED_LOGS: Filesystem.NODEFS,
}
"""The filesystem of the bytes that each collector counts. Logs of dead containers are not counted."""


def layout_of(filesystems: Filesystems) -> Layout:
    """Return the layout; separate images and layers without a device for the images count as a single filesystem."""
    if not filesystems.dedicated_image_fs:
        return Layout.SINGLE
    return Layout.SPLIT if filesystems.split_container_fs else Layout.DEDICATED


def device_of(signal: Signal, layout: Layout) -> Filesystem | None:
    """Return the device whose space this signal observes; `None` for memory and PIDs."""
    filesystem = SIGNALS[signal].filesystem
    return None if filesystem is None else DEVICES[layout][filesystem]


def is_read_only(node: NodeStats | None, signal: Signal, layout: Layout) -> bool:
    """Whether any filesystem on the device of this signal is read-only."""
    device = device_of(signal, layout)
    if node is None or device is None:
        return False
    by_device = zip(DEVICES[layout].values(), (node.fs, node.image_fs, node.container_fs), strict=True)
    return device in [each for each, fs in by_device if fs is not None and fs.read_only]


def freed_bytes(outcomes: Iterable[ReclaimOutcome], signal: Signal, layout: Layout) -> int:
    """Add up the bytes that the collectors freed on the device of this signal; those on another device relieve nothing."""
    device = device_of(signal, layout)
    return sum(outcome.freed_bytes for outcome in outcomes if DEVICES[layout][FREED_ON[outcome.action]] is device)


def node_reclaim_actions(signal: Signal, layout: Layout, config: EvictionConfig) -> tuple[Reclaim, ...]:
    """List what to collect for this signal, without what the configuration has switched off."""
    filesystem = SIGNALS[signal].filesystem
    if filesystem is None:
        return ()
    actions = NODE_RECLAIM[layout][filesystem]
    if config.policy is Policy.STANDARD and layout is Layout.DEDICATED and filesystem is Filesystem.NODEFS:
        actions = (Reclaim.CONTAINERS,)  # dead containers leave logs on nodefs; the documentation says they go first
    wanted = {
        Reclaim.CONTAINERS: config.reclaim_containers,
        Reclaim.IMAGES: config.reclaim_images is not ImageReclaim.OFF,
        Reclaim.ROTATED_LOGS: config.reclaim_rotated_logs,
    }
    return tuple(action for action in (*actions, *_beyond_the_kubelet(filesystem, layout, config)) if wanted[action])


def _beyond_the_kubelet(filesystem: Filesystem, layout: Layout, config: EvictionConfig) -> tuple[Reclaim, ...]:
    """List what policy Standard can free on the device of a filesystem and the kubelet does not."""
    has_logs = DEVICES[layout][filesystem] is DEVICES[layout][Filesystem.NODEFS]
    return (Reclaim.ROTATED_LOGS,) if has_logs and config.policy is Policy.STANDARD else ()


def only_measured(signal: Signal, layout: Layout, config: EvictionConfig) -> tuple[Reclaim, ...]:
    """List what could be freed for this signal if the configuration allowed it, and would cost no image and no container."""
    filesystem = SIGNALS[signal].filesystem
    if filesystem is None or config.reclaim_rotated_logs:
        return ()
    return _beyond_the_kubelet(filesystem, layout, config)


def reclaim_node(
    threshold: Threshold, observation: SignalObservation, layout: Layout, config: EvictionConfig
) -> ReclaimNode | None:
    """Make the decision to collect for this threshold, if anything is collected for it.

    With `reclaim.images: Enough` it says how many bytes are enough.
    """
    actions = node_reclaim_actions(threshold.signal, layout, config)
    if not actions:
        return None
    wanted = None
    if (
        config.reclaim_images is ImageReclaim.ENOUGH
        and SIGNALS[threshold.signal].resource is Resource.EPHEMERAL_STORAGE
    ):
        target = limit_of(threshold, observation, with_min_reclaim=True)
        wanted = max(0, (target - observation.available).value())
    return ReclaimNode(
        actions=actions,
        threshold=threshold,
        device=device_of(threshold.signal, layout),
        wanted_bytes=wanted,
        measured=only_measured(threshold.signal, layout, config),
    )


# --- thresholds of the container filesystem ---------------------------------------------------------------------------


def ignored_container_fs_thresholds(thresholds: Iterable[Threshold]) -> tuple[Threshold, ...]:
    """Pick the user's own containerfs thresholds, which are never used."""
    return tuple(
        threshold for threshold in thresholds if SIGNALS[threshold.signal].filesystem is Filesystem.CONTAINERFS
    )


@lru_cache(maxsize=16)
def add_container_fs_thresholds(thresholds: tuple[Threshold, ...], filesystems: Filesystems) -> tuple[Threshold, ...]:
    """Return the thresholds with those of containerfs, derived from nodefs or imagefs: whichever the writable layers live on.

    Users cannot set any (kubelet `UpdateContainerFsThresholds`; documentation "Node-pressure Eviction", containerfs). One each
    for hard and soft, bytes and inodes; an existing entry is replaced where it stands, a new one appended. Without a source the
    entry is inert. Where writable layers are apart but images are not, nothing is derived.
    """
    if filesystems.split_container_fs and not filesystems.dedicated_image_fs:
        return thresholds
    followed = Filesystem.IMAGEFS if layout_of(filesystems) is Layout.DEDICATED else Filesystem.NODEFS
    result = list(thresholds)
    for signal, source in zip(DISK_SIGNALS[Filesystem.CONTAINERFS], DISK_SIGNALS[followed], strict=True):
        for hard in (True, False):
            _place(result, _derive(thresholds, signal, source, hard=hard), hard=hard)
    return tuple(result)


def _derive(thresholds: tuple[Threshold, ...], signal: Signal, source: Signal, *, hard: bool) -> Threshold:
    found = [threshold for threshold in thresholds if threshold.signal is source and threshold.hard is hard]
    if not found:
        return Threshold(signal=signal, value=ThresholdValue(), operator=Operator.NONE, origin=Origin.DERIVED)
    return replace(found[-1], signal=signal, origin=Origin.DERIVED)


def _place(result: list[Threshold], derived: Threshold, *, hard: bool) -> None:
    for index, threshold in enumerate(result):
        if threshold.signal is derived.signal and threshold.hard is hard and threshold.origin is not Origin.DERIVED:
            result[index] = derived
            return
    result.append(derived)

"""Defines what node-level reclaim frees before a pod is evicted, and the device of each filesystem.

The kubelet's tables of node-level reclaim functions for the three filesystem layouts (`buildSignalToNodeReclaimFuncs`), and
the layout itself.
"""

from collections.abc import Iterable
from enum import Enum

from evictd.core.model.config import EvictionConfig, ImageReclaim, Policy
from evictd.core.model.decision import ReclaimNode
from evictd.core.model.observation import Filesystems, Reclaim, ReclaimOutcome, SignalObservation
from evictd.core.model.signal import SIGNALS, Filesystem, Resource, Signal
from evictd.core.model.stats import NodeStats
from evictd.core.model.threshold import Threshold, limit_of


class Layout(Enum):
    """How the three filesystems lie: all on one, images with writable layers apart, or images alone apart."""

    SINGLE = "single"
    DEDICATED = "dedicated"
    SPLIT = "split"

    __hash__ = object.__hash__  # as the signals' (`core.model.signal`)


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
    actions: tuple[Reclaim, ...],
    threshold: Threshold,
    observation: SignalObservation,
    config: EvictionConfig,
    device: Filesystem | None = None,
    *,
    measured: tuple[Reclaim, ...] = (),
) -> ReclaimNode:
    """Make the decision to collect; with `reclaim.images: Enough` it says how many bytes that is."""
    wanted = None
    if (
        config.reclaim_images is ImageReclaim.ENOUGH
        and SIGNALS[threshold.signal].resource is Resource.EPHEMERAL_STORAGE
    ):
        target = limit_of(threshold, observation, with_min_reclaim=True)
        wanted = max(0, (target - observation.available).value())
    return ReclaimNode(actions=actions, threshold=threshold, device=device, wanted_bytes=wanted, measured=measured)

"""What can be freed on the node before a pod has to go?

The kubelet's tables of node-level reclaim functions for the three filesystem layouts (`buildSignalToNodeReclaimFuncs`), and
the layout itself.
"""

from enum import Enum

from evictd.core.config import EvictionConfig, ImageReclaim, Policy
from evictd.core.decision import ReclaimNode
from evictd.core.observation import Filesystems, Reclaim, SignalObservation
from evictd.core.signal import (
    SIGNAL_TO_FILESYSTEM,
    SIGNAL_TO_RESOURCE,
    Filesystem,
    Resource,
    Signal,
)
from evictd.core.threshold import Threshold, limit_of


class Layout(Enum):
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


def layout_of(filesystems: Filesystems) -> Layout:
    """Name the layout; images and layers apart but images not on a device of their own counts as a single filesystem."""
    if not filesystems.dedicated_image_fs:
        return Layout.SINGLE
    return Layout.SPLIT if filesystems.split_container_fs else Layout.DEDICATED


def node_reclaim_actions(signal: Signal, layout: Layout, config: EvictionConfig) -> tuple[Reclaim, ...]:
    """List what to collect for this signal, without what the configuration has switched off."""
    filesystem = SIGNAL_TO_FILESYSTEM.get(signal)
    if filesystem is None:
        return ()
    actions = NODE_RECLAIM[layout][filesystem]
    if config.policy is Policy.STANDARD and layout is Layout.DEDICATED and filesystem is Filesystem.NODEFS:
        actions = (Reclaim.CONTAINERS,)  # dead containers leave logs on nodefs; the documentation says they go first
    wanted = {
        Reclaim.CONTAINERS: config.reclaim_containers,
        Reclaim.IMAGES: config.reclaim_images is not ImageReclaim.OFF,
    }
    return tuple(action for action in actions if wanted[action])


def reclaim_node(
    actions: tuple[Reclaim, ...], threshold: Threshold, observation: SignalObservation, config: EvictionConfig
) -> ReclaimNode:
    """Make the decision to collect; with `reclaim.images: Enough` it says how many bytes that is."""
    wanted = None
    if (
        config.reclaim_images is ImageReclaim.ENOUGH
        and SIGNAL_TO_RESOURCE[threshold.signal] is Resource.EPHEMERAL_STORAGE
    ):
        target = limit_of(threshold, observation, with_min_reclaim=True)
        wanted = max(0, (target - observation.available).value())
    return ReclaimNode(actions=actions, threshold=threshold, wanted_bytes=wanted)

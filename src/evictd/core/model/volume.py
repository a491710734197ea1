"""Declares a pod's volumes, and which of them use the node's disk."""

from enum import Enum

from evictd.core.frozen import frozen
from evictd.core.units.quantity import Quantity

IN_MEMORY = "Memory"
"""The `medium` of an emptyDir on tmpfs."""


class VolumeKind(Enum):
    """The volume types that eviction tells apart, by their field name in the pod's spec."""

    EMPTY_DIR = "emptyDir"
    HOST_PATH = "hostPath"
    GIT_REPO = "gitRepo"
    CONFIG_MAP = "configMap"
    SECRET = "secret"
    PROJECTED = "projected"
    DOWNWARD_API = "downwardAPI"
    OTHER = "other"


@frozen
class Volume:
    """One volume of the pod's spec."""

    name: str
    kind: VolumeKind
    medium: str = ""
    """emptyDir only: "" is the node's disk, `Memory` and `HugePages...` are not."""
    size_limit: Quantity | None = None
    """emptyDir only."""

    @property
    def local(self) -> bool:
        """Whether it uses the node's disk and counts when ranking: hostPath, gitRepo, emptyDir, configMap."""
        if self.kind is VolumeKind.EMPTY_DIR:
            return self.medium == ""
        return self.kind in {VolumeKind.HOST_PATH, VolumeKind.GIT_REPO, VolumeKind.CONFIG_MAP}

"""The defaults that differ between the supported versions of the kubelet.

They come from `SetDefaults_KubeletConfiguration` and `kube_features.go`. docs/platforms.md says which.
"""

from enum import Enum

from evictd.core.frozen import frozen


class KubernetesVersion(Enum):
    """The version of the kubelet whose defaults count (`kubernetesVersion`)."""

    AUTO = "Auto"
    V1_35 = "1.35"
    V1_36 = "1.36"
    V1_37 = "1.37"


@frozen
class KubeletDefaults:
    """The kubelet's defaults that are not the same in every version."""

    memory_throttling_factor: float | None
    """`memoryThrottlingFactor`; `None`: memory.high is not set."""
    memory_qos: bool
    """Whether the feature gate MemoryQoS is on, without which a kubelet refuses a `memoryReservationPolicy`."""


DEFAULTS = {
    KubernetesVersion.V1_35: KubeletDefaults(memory_throttling_factor=0.9, memory_qos=False),
    KubernetesVersion.V1_36: KubeletDefaults(memory_throttling_factor=0.9, memory_qos=False),
    KubernetesVersion.V1_37: KubeletDefaults(memory_throttling_factor=None, memory_qos=True),
}
USUAL = KubernetesVersion.V1_36
"""The version whose defaults count if neither the file nor a node names one."""
_NAMED = {tuple(map(int, each.value.split("."))): each for each in DEFAULTS}


def version_of(text: str) -> KubernetesVersion:
    """Return the version that a node's `kubeletVersion` such as `v1.37.0-rc.1` names; `AUTO` where it is no version.

    An older kubelet counts as the oldest that is known, a newer one as the newest.
    """
    parts = text.removeprefix("v").split(".")
    if len(parts) < 3 or not (parts[0].isdecimal() and parts[1].isdecimal()):
        return KubernetesVersion.AUTO
    found = int(parts[0]), int(parts[1])
    return _NAMED[max((each for each in _NAMED if each <= found), default=min(_NAMED))]


def defaults_of(asked: KubernetesVersion, reported: str = "") -> KubeletDefaults:
    """Return the defaults of the version that is asked for; for `AUTO` of the node's `kubeletVersion`, where it is known."""
    version = version_of(reported) if asked is KubernetesVersion.AUTO else asked
    return DEFAULTS[USUAL if version is KubernetesVersion.AUTO else version]

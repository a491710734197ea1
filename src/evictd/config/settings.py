"""Holds the whole configuration as one frozen value: both documents as decoded, and the core's `EvictionConfig` made from them.

Built by `config.file.load`. Every value is validated and in its final unit: durations in nanoseconds, sizes in bytes.
"""

from dataclasses import field
from pathlib import Path

from evictd.codec.config.evictd_config import (
    ClusterSettings,
    ConditionTypes,
    EvictdConfiguration,
    HookSettings,
    MemoryQoSMode,
    OomScoreAdj,
    TaintEffect,
)
from evictd.codec.config.kubelet_fields import KubeletConfiguration
from evictd.codec.config.kubelet_versions import KubernetesVersion, defaults_of
from evictd.config.written import Written
from evictd.core.frozen import frozen
from evictd.core.model.config import EvictionConfig, MemoryFormula
from evictd.core.model.oom import MemoryQoSRules, MemoryReservationPolicy
from evictd.core.units.duration import MINUTE

__all__ = [
    "MEMORY_POLICIES",
    "ClusterSettings",
    "ConditionTypes",
    "EvictdConfiguration",
    "HookSettings",
    "KubeletConfiguration",
    "KubernetesVersion",
    "MemoryFormula",
    "MemoryQoSMode",
    "OomScoreAdj",
    "Settings",
    "TaintEffect",
    "UnknownField",
]


MEMORY_POLICIES = {policy.value: policy for policy in MemoryReservationPolicy}
"""The values of `memoryReservationPolicy` that are known; any other, of a newer kubelet, counts as None."""


@frozen
class UnknownField:
    """A field of the kubelet's document that this version does not know; a newer kubelet may."""

    message: str
    """Where the field is, and that it has no effect."""
    remedy: str
    misspelt: bool = False
    """Whether it is so close to a known one that it is hardly a field of a newer kubelet."""

    def __str__(self) -> str:
        return f"{self.message}; {self.remedy}"


@frozen
class Settings:
    """One complete, valid configuration."""

    eviction: EvictionConfig = field(default_factory=lambda: EvictionConfig(keep_away=False))
    """The core's settings from both documents. Without an API server no taint keeps pods away."""
    evictd: EvictdConfiguration = field(default_factory=EvictdConfiguration)
    kubelet: KubeletConfiguration = field(default_factory=KubeletConfiguration)
    """The kubelet's document, with its defaults in place of zeros."""
    node_status_report_frequency: int = 5 * MINUTE
    """The default depends on whether `nodeStatusUpdateFrequency` was set."""

    source: Path | None = None
    """The main file; `None` if there was none."""
    written: Written = field(default=Written(), compare=False, repr=False)
    """The fields as the files have them, with which a reload compares those of the new files."""
    unknown_fields: tuple[UnknownField, ...] = ()
    """Fields of the kubelet's document that this version does not know."""
    surprises: tuple[str, ...] = ()
    """Settings that are valid but surprising; one line each."""
    without_effect: tuple[str, ...] = ()
    """Fields of the kubelet's configuration that were set, but that evictd does not obey, by their YAML names."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the daemon warns of at its start and reload; one line each."""
        return (*map(str, self.unknown_fields), *self.surprises)

    def memory_qos_rules(self, kubelet_version: str = "") -> MemoryQoSRules:
        """Return what the kubelet's document says of Memory QoS.

        `kubelet_version` is the node's `kubeletVersion`, empty where it is not known; it counts with `kubernetesVersion: Auto`.
        """
        factor = self.kubelet.memory_throttling_factor
        defaults = defaults_of(self.evictd.kubernetes_version, kubelet_version)
        return MemoryQoSRules(
            policy=MEMORY_POLICIES.get(self.kubelet.memory_reservation_policy, MemoryReservationPolicy.NONE),
            throttling_factor=defaults.memory_throttling_factor if factor is None else factor,
            reserved=sum(reserved.value() for reserved in self.kubelet.reserved_memory),
        )

"""Holds the whole configuration as one frozen value: the core's `EvictionConfig` and the settings of the shell.

Built by `config.file.load`. Every value is validated and in its final unit: durations in nanoseconds, sizes in bytes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from evictd.codec.config.evictd_config import ConditionTypes, MemoryQoSMode, OomScoreAdj
from evictd.core.eviction.eviction_method import EvictionMethod
from evictd.core.model.config import EvictionConfig, MemoryFormula
from evictd.core.model.oom import MemoryQoSRules
from evictd.core.units.duration import MINUTE, SECOND
from evictd.core.units.quantity import Quantity

__all__ = [
    "ClusterSettings",
    "ConditionTypes",
    "HookSettings",
    "JournalSettings",
    "MemoryFormula",
    "MemoryQoSMode",
    "OomScoreAdj",
    "Settings",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings:
    """Settings for the API server; without `kubeconfig` evictd runs standalone."""

    kubeconfig: str = ""
    """Path of a kubeconfig, or `in-cluster`."""
    node_name: str = ""
    """Name of the Node object; empty: the host name."""
    pod_termination: EvictionMethod = EvictionMethod.AUTO
    condition_types: ConditionTypes = ConditionTypes.AUTO
    taints: bool = True
    eviction_timeout: int = 60 * SECOND
    event_record_qps: int = 50
    """Events sent per second on average; 0: no limit of its own."""
    event_burst: int = 100
    """Events sent in one burst."""
    evicted_pod_ttl: int = 0
    """Age at which evicted pods are deleted; 0: they are kept."""

    @property
    def standalone(self) -> bool:
        """Whether no API server is configured."""
        return not self.kubeconfig


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalSettings:
    """Size of the journal on disk, and whether it holds the ends of victims' logs."""

    max_file_bytes: int = 16 * 2**20
    max_files: int = 4
    log_tails: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class HookSettings:
    """Commands around evictions, by absolute path with arguments; empty for none."""

    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    time_limit: int = 10 * SECOND


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """One complete, valid configuration."""

    eviction: EvictionConfig = field(default_factory=EvictionConfig)
    dry_run: bool = False
    housekeeping_interval: int = 10 * SECOND
    """Also `eviction.monitoring_period`."""
    memory_formula: MemoryFormula = MemoryFormula.WORKING_SET
    memory_watch: bool = True
    oom_score_adj: OomScoreAdj = OomScoreAdj.REPORT
    memory_qos: MemoryQoSMode = MemoryQoSMode.OFF
    memory_qos_rules: MemoryQoSRules = field(default_factory=MemoryQoSRules)
    cluster: ClusterSettings = ClusterSettings()
    hooks: HookSettings = HookSettings()
    journal: JournalSettings = JournalSettings()
    state_directory: Path = Path("/var/lib/evictd")
    listen_address: str = "127.0.0.1:10277"
    """Loopback host and port; empty: evictd does not listen; 10258 is the cloud controller manager's."""

    container_runtime_endpoint: str = "unix:///run/containerd/containerd.sock"
    image_service_endpoint: str = "unix:///run/containerd/containerd.sock"
    """The runtime's endpoint if none was set."""
    runtime_request_timeout: int = 2 * MINUTE
    root_dir: Path = Path("/var/lib/kubelet")
    pod_logs_dir: Path = Path("/var/log/pods")
    static_pod_path: Path | None = None
    kernel_memcg_notification: bool = False

    cgroup_root: str = "/"
    kube_reserved: Mapping[str, Quantity] = field(default_factory=dict)
    system_reserved: Mapping[str, Quantity] = field(default_factory=dict)

    node_status_update_frequency: int = 10 * SECOND
    node_status_report_frequency: int = 5 * MINUTE

    source: Path | None = None
    """The main file; `None` if there was none."""
    warnings: tuple[str, ...] = ()
    """Settings that are valid but surprising; one line each."""
    without_effect: tuple[str, ...] = ()
    """Fields of the kubelet's configuration that were set, but that evictd does not obey, by their YAML names."""

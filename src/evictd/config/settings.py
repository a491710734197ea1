"""All that was asked, as one frozen value: what the core obeys, and what the shell needs to know.

Made by `config.file.load`; every value is checked and in its final unit: durations are nanoseconds, sizes are bytes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from evictd.codec.evictd_config import ConditionTypes, MemoryFormula, OomScoreAdj, PodTermination
from evictd.core.config import EvictionConfig
from evictd.core.duration import MINUTE, SECOND
from evictd.core.quantity import Quantity

__all__ = [
    "ClusterSettings",
    "ConditionTypes",
    "JournalSettings",
    "MemoryFormula",
    "OomScoreAdj",
    "PodTermination",
    "Settings",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings:
    """How to live in a cluster; without `kubeconfig` there is none."""

    kubeconfig: str = ""
    """A path, or `in-cluster`."""
    node_name: str = ""
    """Empty: the host name."""
    pod_termination: PodTermination = PodTermination.AUTO
    condition_types: ConditionTypes = ConditionTypes.AUTO
    taints: bool = True
    eviction_timeout: int = 60 * SECOND
    evicted_pod_ttl: int = 0
    """Zero: evicted pods are kept."""

    @property
    def standalone(self) -> bool:
        """Whether there is no API server to speak to."""
        return not self.kubeconfig


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalSettings:
    """How much of the journal is kept."""

    max_file_bytes: int = 16 * 2**20
    max_files: int = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """One configuration, complete."""

    eviction: EvictionConfig = field(default_factory=EvictionConfig)
    dry_run: bool = False
    housekeeping_interval: int = 10 * SECOND
    """Also `eviction.monitoring_period`."""
    memory_formula: MemoryFormula = MemoryFormula.WORKING_SET
    memory_watch: bool = True
    oom_score_adj: OomScoreAdj = OomScoreAdj.REPORT
    cluster: ClusterSettings = ClusterSettings()
    journal: JournalSettings = JournalSettings()
    state_directory: Path = Path("/var/lib/evictd")
    listen_address: str = "127.0.0.1:10258"
    """Loopback host and port; empty: do not listen."""

    container_runtime_endpoint: str = "unix:///run/containerd/containerd.sock"
    image_service_endpoint: str = "unix:///run/containerd/containerd.sock"
    """The runtime's where none was set."""
    runtime_request_timeout: int = 2 * MINUTE
    root_dir: Path = Path("/var/lib/kubelet")
    pod_logs_dir: Path = Path("/var/log/pods")
    static_pod_path: Path | None = None
    volume_stats_agg_period: int = MINUTE
    """Not positive: volumes are not measured."""
    kernel_memcg_notification: bool = False

    cgroup_root: str = "/"
    cgroup_driver: str = "cgroupfs"
    """As configured; the runtime's own answer goes before it."""
    cgroups_per_qos: bool = True
    enforce_node_allocatable: tuple[str, ...] = ("pods",)
    kube_reserved: Mapping[str, Quantity] = field(default_factory=dict)
    system_reserved: Mapping[str, Quantity] = field(default_factory=dict)
    kube_reserved_cgroup: str = ""
    system_reserved_cgroup: str = ""
    max_pods: int = 110
    pods_per_core: int = 0
    pod_pids_limit: int = -1

    node_status_update_frequency: int = 10 * SECOND
    node_status_report_frequency: int = 5 * MINUTE
    event_record_qps: int = 50
    """Zero: no limit."""
    event_burst: int = 100

    memory_qos: bool = False
    """The feature gate MemoryQoS."""
    memory_throttling_factor: float = 0.9
    memory_reservation_policy: str = "None"
    memory_swap_behavior: str = ""
    single_process_oom_kill: bool | None = None
    """`None`: true on cgroup v1, false on v2."""

    source: Path | None = None
    """The file it came from."""
    warnings: tuple[str, ...] = ()
    """What is allowed but surprising; one line each."""

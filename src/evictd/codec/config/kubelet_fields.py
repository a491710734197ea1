"""Declares the fields of `KubeletConfiguration` (kubelet.config.k8s.io/v1beta1, Kubernetes 1.36).

Three groups, so that the node's own file can be used unchanged:

* fields that evictd obeys;
* `WITHOUT_EFFECT`: read and validated as the kubelet does, but evictd does nothing with the value;
* `IGNORED_FIELDS`: known by name only.

Every default is the kubelet's (`SetDefaults_KubeletConfiguration`). The descriptions go into the JSON Schema.
"""

from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, field

from evictd.codec.config.fields import THRESHOLDS, about, not_obeyed, rules
from evictd.codec.strict import Duration
from evictd.core.model.resources import EPHEMERAL_STORAGE, MEMORY
from evictd.core.units.duration import MINUTE, SECOND
from evictd.core.units.quantity import Quantity, parse_quantity

API_VERSION = "kubelet.config.k8s.io/v1beta1"
KIND = "KubeletConfiguration"

Int32 = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Texts = dict[str, str]


class MemorySwap(msgspec.Struct, kw_only=True, frozen=True):
    """How containers may use swap. No effect on evictd."""

    swap_behavior: Annotated[str, not_obeyed('"", NoSwap or LimitedSwap.')] = field(default="", name="swapBehavior")


class KubeletConfiguration(msgspec.Struct, kw_only=True, frozen=True, rename="camel"):
    """The kubelet's own configuration; it may be the very file that the node's kubelet uses."""

    eviction_hard: Annotated[
        Texts | None,
        about(
            "Hard thresholds, signal to amount or percentage. A file without it gets "
            "memory.available 100Mi, nodefs.available 10%, nodefs.inodesFree 5%, imagefs.available 15%, "
            "imagefs.inodesFree 5%; one entry puts the others to none.",
            sets=THRESHOLDS,
            live=True,
        ),
    ] = None
    eviction_soft: Annotated[
        Texts,
        about(
            "Soft thresholds, signal to amount or percentage; each needs a grace period.", sets=THRESHOLDS, live=True
        ),
    ] = field(default_factory=dict)
    eviction_soft_grace_period: Annotated[
        Texts,
        about(
            "How long a soft threshold must be met before evictd acts on it, signal to duration.",
            sets=THRESHOLDS,
            live=True,
        ),
    ] = field(default_factory=dict)
    eviction_minimum_reclaim: Annotated[
        Texts,
        about("How much to free beyond the threshold, signal to amount or percentage.", sets=THRESHOLDS, live=True),
    ] = field(default_factory=dict)
    eviction_max_pod_grace_period: Annotated[
        Int32,
        about(
            "Longest grace period, in seconds, of a pod evicted for a soft threshold.",
            sets="max_pod_grace_period_seconds",
            live=True,
        ),
    ] = 0
    eviction_pressure_transition_period: Annotated[
        Duration,
        about(
            "How long a pressure condition stays True after the pressure ended.",
            sets="pressure_transition_period",
            live=True,
            zero_is_default=True,
        ),
    ] = Duration(5 * MINUTE)
    merge_default_eviction_settings: Annotated[
        bool,
        about(
            "Add the default hard thresholds for signals that evictionHard does not list.", sets=THRESHOLDS, live=True
        ),
    ] = False

    image_minimum_gc_age: Annotated[
        Duration,
        about("Age below which an unused image is not deleted.", sets="image_gc.min_age", zero_is_default=True),
    ] = field(default=Duration(2 * MINUTE), name="imageMinimumGCAge")
    image_maximum_gc_age: Annotated[
        Duration,
        about("Longest time an image may be unused before it is deleted; 0s: no limit.", sets="image_gc.max_age"),
    ] = field(default=Duration(0), name="imageMaximumGCAge")
    image_gc_high_threshold_percent: Annotated[
        Int32,
        about(
            "Disk usage in percent at which image garbage collection starts.", sets="image_gc.high_threshold_percent"
        ),
    ] = field(default=85, name="imageGCHighThresholdPercent")
    image_gc_low_threshold_percent: Annotated[
        Int32,
        about("Disk usage in percent at which image garbage collection stops.", sets="image_gc.low_threshold_percent"),
    ] = field(default=80, name="imageGCLowThresholdPercent")
    volume_stats_agg_period: Annotated[
        Duration, not_obeyed("How often the kubelet measures volumes.", zero_is_default=True)
    ] = Duration(MINUTE)
    local_storage_capacity_isolation: Annotated[
        bool,
        about(
            "Evict pods that exceed their own ephemeral-storage limits.",
            sets="local_storage_capacity_isolation",
            live=True,
        ),
    ] = True
    kernel_memcg_notification: Annotated[
        bool, about("Start a cycle when the kernel reports that a memory threshold is crossed (cgroup v1).")
    ] = False

    max_pods: Annotated[Int32, not_obeyed("How many pods the node accepts.", zero_is_default=True)] = 110
    pods_per_core: Annotated[Int32, not_obeyed("How many pods the node accepts per core; 0: no limit.")] = 0
    pod_pids_limit: Annotated[Int64, not_obeyed("How many PIDs a pod may have; -1: no limit.")] = -1
    system_reserved: Annotated[Texts, about("cpu, memory, ephemeral-storage and pid reserved for system daemons.")] = (
        field(default_factory=dict)
    )
    kube_reserved: Annotated[
        Texts, about("cpu, memory, ephemeral-storage and pid reserved for Kubernetes daemons.")
    ] = field(default_factory=dict)
    system_reserved_cgroup: Annotated[str, not_obeyed("The cgroup in which the kubelet enforces systemReserved.")] = ""
    kube_reserved_cgroup: Annotated[str, not_obeyed("The cgroup in which the kubelet enforces kubeReserved.")] = ""
    reserved_system_cpus: Annotated[str, not_obeyed("CPUs reserved for system and Kubernetes daemons.")] = field(
        default="", name="reservedSystemCPUs"
    )
    enforce_node_allocatable: Annotated[
        tuple[str, ...],
        about(
            "none, or some of pods, system-reserved, system-reserved-compressible, kube-reserved, kube-reserved-compressible. "
            "With pods, allocatableMemory.available has a threshold.",
            sets=THRESHOLDS,
            live=True,
        ),
    ] = ("pods",)
    cgroups_per_qos: Annotated[bool, not_obeyed("The kubelet puts pods into one cgroup per QoS class.")] = field(
        default=True, name="cgroupsPerQOS"
    )
    cgroup_root: Annotated[str, about("The cgroup that holds kubepods; empty: the root cgroup.")] = ""
    system_cgroups: Annotated[str, not_obeyed("The cgroup for all other processes; needs cgroupRoot.")] = ""
    cgroup_driver: Annotated[
        str,
        not_obeyed("cgroupfs or systemd. evictd finds the pods' cgroups by both spellings.", zero_is_default=True),
    ] = "cgroupfs"
    fail_cgroup_v1: Annotated[bool, not_obeyed("The kubelet refuses to start on cgroup v1.")] = field(
        default=True, name="failCgroupV1"
    )

    node_status_update_frequency: Annotated[
        Duration, about("How often the node's conditions are computed.", zero_is_default=True)
    ] = Duration(10 * SECOND)
    node_status_report_frequency: Annotated[
        Duration,
        about("How often unchanged conditions are sent; 0s: 5m, or nodeStatusUpdateFrequency if that is set."),
    ] = Duration(0)
    node_lease_duration_seconds: Annotated[
        Int32, not_obeyed("Lifetime of the kubelet's lease.", zero_is_default=True)
    ] = 40
    node_status_max_images: Annotated[
        Int32, not_obeyed("How many images the kubelet lists in the node's status; -1: all.")
    ] = 50
    register_node: Annotated[bool, not_obeyed("The kubelet registers the node.")] = True

    memory_throttling_factor: Annotated[
        float | None,
        about(
            "Memory QoS: factor for memory.high, above 0, at most 1. Unset: 0.9 up to Kubernetes 1.36, none from 1.37 on, where "
            "memory.high is max (kubernetesVersion). Used with memoryQoS."
        ),
    ] = None
    memory_reservation_policy: Annotated[
        str, about("Memory QoS: None or TieredReservation. Used with memoryQoS.", zero_is_default=True)
    ] = "None"
    memory_swap: Annotated[MemorySwap, not_obeyed("How containers may use swap.")] = MemorySwap()
    single_process_oom_kill: Annotated[
        bool | None,
        not_obeyed("The kernel kills single processes, not whole containers; unset: true on cgroup v1, false on v2."),
    ] = field(default=None, name="singleProcessOOMKill")
    oom_score_adj: Annotated[Int32, not_obeyed("oom_score_adj of the kubelet's own process.")] = -999
    feature_gates: Annotated[
        dict[str, bool],
        not_obeyed("Feature gates by name, validated with the fields that need a gate."),
    ] = field(default_factory=dict)

    pod_logs_dir: Annotated[str, about("Directory of the pods' log files.", zero_is_default=True)] = "/var/log/pods"
    static_pod_path: Annotated[str, about("Directory or file with the manifests of static pods.")] = ""
    container_runtime_endpoint: Annotated[str, about("Unix socket of the container runtime.", zero_is_default=True)] = (
        "unix:///run/containerd/containerd.sock"
    )
    image_service_endpoint: Annotated[str, about("Unix socket of the image service; empty: the runtime's.")] = ""
    runtime_request_timeout: Annotated[
        Duration, about("Longest time that a call to the runtime may take.", zero_is_default=True)
    ] = Duration(2 * MINUTE)
    event_record_qps: Annotated[Int32, about("Events sent per second on average; 0: no limit of its own.")] = field(
        default=50, name="eventRecordQPS"
    )
    event_burst: Annotated[Int32, about("Events sent in one burst; 0 is 100 in a file.", zero_is_default=True)] = 100

    @property
    def image_endpoint(self) -> str:
        """The endpoint of the image service, which is the runtime's unless it is set."""
        return self.image_service_endpoint or self.container_runtime_endpoint

    @property
    def parent_cgroup(self) -> str:
        """The cgroup that holds kubepods, as an absolute path."""
        return self.cgroup_root or "/"

    @property
    def logs_dir(self) -> Path:
        """The directory of the pods' log files."""
        return Path(self.pod_logs_dir)

    @property
    def static_pods(self) -> Path | None:
        """Directory of the static pods' manifests; `None` without one."""
        return Path(self.static_pod_path) if self.static_pod_path else None

    @property
    def reserved_memory(self) -> tuple[Quantity, ...]:
        """Memory reserved for the daemons of Kubernetes and of the system."""
        return self._reserved(MEMORY)

    @property
    def reserved_disk(self) -> tuple[Quantity, ...]:
        """The same of disk space."""
        return self._reserved(EPHEMERAL_STORAGE)

    def _reserved(self, resource: str) -> tuple[Quantity, ...]:
        texts = (self.kube_reserved.get(resource), self.system_reserved.get(resource))
        return tuple(parse_quantity(text) for text in texts if text is not None)


_RULES = rules(KubeletConfiguration)
ZERO_MEANS_DEFAULT = tuple(name for name, rule in _RULES.items() if rule.zero_is_default)
"""Fields whose zero in a file means 'not set'."""

WITHOUT_EFFECT = tuple(name for name, rule in _RULES.items() if not rule.has_effect)
"""Fields that are validated but do not change what evictd does; `evictd check` warns about each that is not its default."""

IGNORED_FIELDS = frozenset(
    {
        "address",
        "allowedUnsafeSysctls",
        "defaultPodSysctls",
        "authentication",
        "authorization",
        "clusterDNS",
        "clusterDomain",
        "configMapAndSecretChangeDetectionStrategy",
        "containerLogMaxFiles",
        "containerLogMaxSize",
        "containerLogMaxWorkers",
        "containerLogMonitorInterval",
        "contentType",
        "cpuCFSQuota",
        "cpuCFSQuotaPeriod",
        "cpuManagerPolicy",
        "cpuManagerPolicyOptions",
        "cpuManagerReconcilePeriod",
        "crashLoopBackOff",
        "enableContentionProfiling",
        "enableControllerAttachDetach",
        "enableDebugFlagsHandler",
        "enableDebuggingHandlers",
        "enableProfilingHandler",
        "enableServer",
        "enableSystemLogHandler",
        "enableSystemLogQuery",
        "failSwapOn",
        "fileCheckFrequency",
        "hairpinMode",
        "healthzBindAddress",
        "healthzPort",
        "httpCheckFrequency",
        "imagePullCredentialsVerificationPolicy",
        "iptablesDropBit",
        "iptablesMasqueradeBit",
        "kubeAPIBurst",
        "kubeAPIQPS",
        "kubeletCgroups",
        "logging",
        "makeIPTablesUtilChains",
        "maxOpenFiles",
        "maxParallelImagePulls",
        "memoryManagerPolicy",
        "podCIDR",
        "port",
        "preloadedImagesVerificationAllowlist",
        "protectKernelDefaults",
        "providerID",
        "qosReserved",
        "readOnlyPort",
        "registerWithTaints",
        "registryBurst",
        "registryPullQPS",
        "reservedMemory",
        "resolvConf",
        "rotateCertificates",
        "runOnce",
        "seccompDefault",
        "serializeImagePulls",
        "serverTLSBootstrap",
        "showHiddenMetricsForVersion",
        "shutdownGracePeriod",
        "shutdownGracePeriodByPodPriority",
        "shutdownGracePeriodCriticalPods",
        "staticPodURL",
        "staticPodURLHeader",
        "streamingConnectionIdleTimeout",
        "syncFrequency",
        "tlsCertFile",
        "tlsCipherSuites",
        "tlsCurvePreferences",
        "tlsMinVersion",
        "tlsPrivateKeyFile",
        "topologyManagerPolicy",
        "topologyManagerPolicyOptions",
        "topologyManagerScope",
        "tracing",
        "userNamespaces",
        "volumePluginDir",
    }
)
"""Fields of which only the name is checked; any value is accepted."""

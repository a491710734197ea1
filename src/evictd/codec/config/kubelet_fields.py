"""Declares the fields of `KubeletConfiguration` (kubelet.config.k8s.io/v1beta1, Kubernetes 1.36).

Three groups, so that the node's own file can be used unchanged:

* fields that evictd obeys;
* `WITHOUT_EFFECT`: read and validated as the kubelet does, but evictd does nothing with the value;
* `IGNORED_FIELDS`: known by name only.

Every default is the kubelet's (`SetDefaults_KubeletConfiguration`). The descriptions go into the JSON Schema.
"""

from typing import Annotated

import msgspec
from msgspec import Meta, field

from evictd.codec.strict import Duration
from evictd.core.units.duration import MINUTE, SECOND

API_VERSION = "kubelet.config.k8s.io/v1beta1"
KIND = "KubeletConfiguration"

Int32 = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Texts = dict[str, str]


def _about(text: str) -> Meta:
    return Meta(description=text)


class MemorySwap(msgspec.Struct, kw_only=True, frozen=True):
    """How containers may use swap. No effect on evictd."""

    swap_behavior: Annotated[str, _about('"", NoSwap or LimitedSwap. No effect on evictd.')] = field(
        default="", name="swapBehavior"
    )


class KubeletConfiguration(msgspec.Struct, kw_only=True, frozen=True, rename="camel"):
    """The kubelet's own configuration; it may be the very file that the node's kubelet uses."""

    eviction_hard: Annotated[
        Texts | None,
        _about(
            "Hard thresholds, signal to amount or percentage. A file without it gets "
            "memory.available 100Mi, nodefs.available 10%, nodefs.inodesFree 5%, imagefs.available 15%, "
            "imagefs.inodesFree 5%; one entry puts the others to none."
        ),
    ] = None
    eviction_soft: Annotated[
        Texts, _about("Soft thresholds, signal to amount or percentage; each needs a grace period.")
    ] = field(default_factory=dict)
    eviction_soft_grace_period: Annotated[
        Texts, _about("How long a soft threshold must be met before evictd acts on it, signal to duration.")
    ] = field(default_factory=dict)
    eviction_minimum_reclaim: Annotated[
        Texts, _about("How much to free beyond the threshold, signal to amount or percentage.")
    ] = field(default_factory=dict)
    eviction_max_pod_grace_period: Annotated[
        Int32, _about("Longest grace period, in seconds, of a pod evicted for a soft threshold.")
    ] = 0
    eviction_pressure_transition_period: Annotated[
        Duration, _about("How long a pressure condition stays True after the pressure ended.")
    ] = Duration(5 * MINUTE)
    merge_default_eviction_settings: Annotated[
        bool, _about("Add the default hard thresholds for signals that evictionHard does not list.")
    ] = False

    image_minimum_gc_age: Annotated[Duration, _about("Age below which an unused image is not deleted.")] = field(
        default=Duration(2 * MINUTE), name="imageMinimumGCAge"
    )
    image_maximum_gc_age: Annotated[
        Duration, _about("Longest time an image may be unused before it is deleted; 0s: no limit.")
    ] = field(default=Duration(0), name="imageMaximumGCAge")
    image_gc_high_threshold_percent: Annotated[
        Int32, _about("Disk usage in percent at which image garbage collection starts.")
    ] = field(default=85, name="imageGCHighThresholdPercent")
    image_gc_low_threshold_percent: Annotated[
        Int32, _about("Disk usage in percent at which image garbage collection stops.")
    ] = field(default=80, name="imageGCLowThresholdPercent")
    volume_stats_agg_period: Annotated[
        Duration, _about("How often the kubelet measures volumes. No effect on evictd.")
    ] = Duration(MINUTE)
    local_storage_capacity_isolation: Annotated[
        bool, _about("Evict pods that exceed their own ephemeral-storage limits.")
    ] = True
    kernel_memcg_notification: Annotated[
        bool, _about("Start a cycle when the kernel reports that a memory threshold is crossed (cgroup v1).")
    ] = False

    max_pods: Annotated[Int32, _about("How many pods the node accepts. No effect on evictd.")] = 110
    pods_per_core: Annotated[
        Int32, _about("How many pods the node accepts per core; 0: no limit. No effect on evictd.")
    ] = 0
    pod_pids_limit: Annotated[Int64, _about("How many PIDs a pod may have; -1: no limit. No effect on evictd.")] = -1
    system_reserved: Annotated[Texts, _about("cpu, memory, ephemeral-storage and pid reserved for system daemons.")] = (
        field(default_factory=dict)
    )
    kube_reserved: Annotated[
        Texts, _about("cpu, memory, ephemeral-storage and pid reserved for Kubernetes daemons.")
    ] = field(default_factory=dict)
    system_reserved_cgroup: Annotated[
        str, _about("The cgroup in which the kubelet enforces systemReserved. No effect on evictd.")
    ] = ""
    kube_reserved_cgroup: Annotated[
        str, _about("The cgroup in which the kubelet enforces kubeReserved. No effect on evictd.")
    ] = ""
    reserved_system_cpus: Annotated[
        str, _about("CPUs reserved for system and Kubernetes daemons. No effect on evictd.")
    ] = field(default="", name="reservedSystemCPUs")
    enforce_node_allocatable: Annotated[
        tuple[str, ...],
        _about(
            "none, or some of pods, system-reserved, system-reserved-compressible, kube-reserved, kube-reserved-compressible. "
            "With pods, allocatableMemory.available has a threshold."
        ),
    ] = ("pods",)
    cgroups_per_qos: Annotated[
        bool, _about("The kubelet puts pods into one cgroup per QoS class. No effect on evictd.")
    ] = field(default=True, name="cgroupsPerQOS")
    cgroup_root: Annotated[str, _about("The cgroup that holds kubepods; empty: the root cgroup.")] = ""
    system_cgroups: Annotated[
        str, _about("The cgroup for all other processes; needs cgroupRoot. No effect on evictd.")
    ] = ""
    cgroup_driver: Annotated[
        str, _about("cgroupfs or systemd. No effect on evictd, which finds the pods' cgroups by both spellings.")
    ] = "cgroupfs"
    fail_cgroup_v1: Annotated[bool, _about("The kubelet refuses to start on cgroup v1. No effect on evictd.")] = field(
        default=True, name="failCgroupV1"
    )

    node_status_update_frequency: Annotated[Duration, _about("How often the node's conditions are computed.")] = (
        Duration(10 * SECOND)
    )
    node_status_report_frequency: Annotated[
        Duration,
        _about("How often unchanged conditions are sent; 0s: 5m, or nodeStatusUpdateFrequency if that is set."),
    ] = Duration(0)
    node_lease_duration_seconds: Annotated[Int32, _about("Lifetime of the kubelet's lease. No effect on evictd.")] = 40
    node_status_max_images: Annotated[
        Int32, _about("How many images the kubelet lists in the node's status; -1: all. No effect on evictd.")
    ] = 50
    register_node: Annotated[bool, _about("The kubelet registers the node. No effect on evictd.")] = True

    memory_throttling_factor: Annotated[
        float, _about("Memory QoS: factor for memory.high, above 0, at most 1. Used with memoryQoS.")
    ] = 0.9
    memory_reservation_policy: Annotated[str, _about("Memory QoS: None or TieredReservation. Used with memoryQoS.")] = (
        "None"
    )
    memory_swap: Annotated[MemorySwap, _about("How containers may use swap. No effect on evictd.")] = MemorySwap()
    single_process_oom_kill: Annotated[
        bool | None,
        _about(
            "The kernel kills single processes, not whole containers; unset: true on cgroup v1, false on v2. No effect on evictd."
        ),
    ] = field(default=None, name="singleProcessOOMKill")
    oom_score_adj: Annotated[Int32, _about("oom_score_adj of the kubelet's own process. No effect on evictd.")] = -999
    feature_gates: Annotated[
        dict[str, bool],
        _about("Feature gates by name. No effect on evictd, but validated with the fields that need a gate."),
    ] = field(default_factory=dict)

    pod_logs_dir: Annotated[str, _about("Directory of the pods' log files.")] = "/var/log/pods"
    static_pod_path: Annotated[str, _about("Directory or file with the manifests of static pods.")] = ""
    container_runtime_endpoint: Annotated[str, _about("Unix socket of the container runtime.")] = (
        "unix:///run/containerd/containerd.sock"
    )
    image_service_endpoint: Annotated[str, _about("Unix socket of the image service; empty: the runtime's.")] = ""
    runtime_request_timeout: Annotated[Duration, _about("Longest time that a call to the runtime may take.")] = (
        Duration(2 * MINUTE)
    )
    event_record_qps: Annotated[Int32, _about("Events sent per second on average; 0: no limit of its own.")] = field(
        default=50, name="eventRecordQPS"
    )
    event_burst: Annotated[Int32, _about("Events sent in one burst; 0 is 100 in a file.")] = 100


ZERO_MEANS_DEFAULT = (
    "eviction_pressure_transition_period",
    "image_minimum_gc_age",
    "volume_stats_agg_period",
    "max_pods",
    "cgroup_driver",
    "node_status_update_frequency",
    "node_lease_duration_seconds",
    "memory_reservation_policy",
    "pod_logs_dir",
    "container_runtime_endpoint",
    "runtime_request_timeout",
    "event_burst",
)
"""Fields whose zero in a file means 'not set' and becomes the default (`SetDefaults_KubeletConfiguration`)."""

WITHOUT_EFFECT = (
    "volume_stats_agg_period",
    "max_pods",
    "pods_per_core",
    "pod_pids_limit",
    "system_reserved_cgroup",
    "kube_reserved_cgroup",
    "reserved_system_cpus",
    "cgroups_per_qos",
    "system_cgroups",
    "cgroup_driver",
    "fail_cgroup_v1",
    "node_lease_duration_seconds",
    "node_status_max_images",
    "register_node",
    "memory_swap",
    "single_process_oom_kill",
    "oom_score_adj",
    "feature_gates",
)
"""Fields that are validated but do not change what evictd does; `evictd check` warns about each that is set."""

IGNORED_FIELDS = frozenset(
    {
        "address",
        "allowedUnsafeSysctls",
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
        "systemPartition",
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

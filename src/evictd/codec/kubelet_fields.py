"""The fields of `KubeletConfiguration` (kubelet.config.k8s.io/v1beta1), Kubernetes 1.36.

Those that concern eviction, garbage collection and the way to the containers are read; the others are known by name, so
that the node's own file can be used as it is, and ignored. A default here is the kubelet's.
"""

from typing import Annotated

import msgspec
from msgspec import Meta, field

from evictd.codec.strict import Duration
from evictd.core.duration import MINUTE, SECOND

API_VERSION = "kubelet.config.k8s.io/v1beta1"
KIND = "KubeletConfiguration"

Int32 = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Texts = dict[str, str]


def _about(text: str) -> Meta:
    return Meta(description=text)


class MemorySwap(msgspec.Struct, kw_only=True, frozen=True):
    """How containers may use swap."""

    swap_behavior: Annotated[str, _about('"", NoSwap or LimitedSwap.')] = field(default="", name="swapBehavior")


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
        Texts, _about("How long a soft threshold must be met before it acts, signal to duration.")
    ] = field(default_factory=dict)
    eviction_minimum_reclaim: Annotated[
        Texts, _about("How much more than the threshold asks for is to be freed, signal to amount or percentage.")
    ] = field(default_factory=dict)
    eviction_max_pod_grace_period: Annotated[
        Int32, _about("Seconds that a pod evicted for a soft threshold gets at most.")
    ] = 0
    eviction_pressure_transition_period: Annotated[
        Duration, _about("How long a pressure condition stays after the pressure is gone.")
    ] = Duration(5 * MINUTE)
    merge_default_eviction_settings: Annotated[
        bool, _about("Add the default hard thresholds for signals that evictionHard does not list.")
    ] = False

    image_minimum_gc_age: Annotated[Duration, _about("How long an unused image is left alone.")] = field(
        default=Duration(2 * MINUTE), name="imageMinimumGCAge"
    )
    image_maximum_gc_age: Annotated[Duration, _about("How long an image may be unused; 0s: for ever.")] = field(
        default=Duration(0), name="imageMaximumGCAge"
    )
    image_gc_high_threshold_percent: Annotated[Int32, _about("Disk usage above which unused images are collected.")] = (
        field(default=85, name="imageGCHighThresholdPercent")
    )
    image_gc_low_threshold_percent: Annotated[
        Int32, _about("Disk usage down to which unused images are collected.")
    ] = field(default=80, name="imageGCLowThresholdPercent")
    volume_stats_agg_period: Annotated[Duration, _about("How often the volumes of calm pods are measured.")] = Duration(
        MINUTE
    )
    local_storage_capacity_isolation: Annotated[
        bool, _about("Evict pods that break their own ephemeral-storage limits.")
    ] = True
    kernel_memcg_notification: Annotated[bool, _about("Be woken by the kernel's memory thresholds (cgroup v1).")] = (
        False
    )

    max_pods: Annotated[Int32, _about("How many pods the node takes.")] = 110
    pods_per_core: Annotated[Int32, _about("How many pods a core takes; 0: no limit.")] = 0
    pod_pids_limit: Annotated[Int64, _about("How many PIDs a pod may have; -1: no limit.")] = -1
    system_reserved: Annotated[Texts, _about("cpu, memory, ephemeral-storage, pid kept for the system.")] = field(
        default_factory=dict
    )
    kube_reserved: Annotated[Texts, _about("cpu, memory, ephemeral-storage, pid kept for Kubernetes itself.")] = field(
        default_factory=dict
    )
    system_reserved_cgroup: Annotated[str, _about("The cgroup in which systemReserved is enforced.")] = ""
    kube_reserved_cgroup: Annotated[str, _about("The cgroup in which kubeReserved is enforced.")] = ""
    reserved_system_cpus: Annotated[str, _about("CPUs kept for the system.")] = field(
        default="", name="reservedSystemCPUs"
    )
    enforce_node_allocatable: Annotated[
        tuple[str, ...],
        _about(
            "none, or some of pods, system-reserved, system-reserved-compressible, kube-reserved, kube-reserved-compressible.",
        ),
    ] = ("pods",)
    cgroups_per_qos: Annotated[bool, _about("Pods stand in cgroups by QoS class.")] = field(
        default=True, name="cgroupsPerQOS"
    )
    cgroup_root: Annotated[str, _about("The cgroup below which kubepods stands; empty: the root.")] = ""
    system_cgroups: Annotated[str, _about("The cgroup for all other processes; needs cgroupRoot.")] = ""
    cgroup_driver: Annotated[str, _about("cgroupfs or systemd, where the runtime does not say.")] = "cgroupfs"
    fail_cgroup_v1: Annotated[bool, _about("The kubelet refuses cgroup v1; evictd does not.")] = field(
        default=True, name="failCgroupV1"
    )

    node_status_update_frequency: Annotated[Duration, _about("How often the node's conditions are computed.")] = (
        Duration(10 * SECOND)
    )
    node_status_report_frequency: Annotated[
        Duration, _about("How often unchanged conditions are sent; 5m, or nodeStatusUpdateFrequency where that is set.")
    ] = Duration(0)
    node_lease_duration_seconds: Annotated[Int32, _about("Must be positive.")] = 40
    node_status_max_images: Annotated[Int32, _about("Not below -1.")] = 50
    register_node: Annotated[bool, _about("The kubelet registers the node.")] = True

    memory_throttling_factor: Annotated[float, _about("Memory QoS: where memory.high stands, above 0 up to 1.")] = 0.9
    memory_reservation_policy: Annotated[str, _about("Memory QoS: None or TieredReservation.")] = "None"
    memory_swap: Annotated[MemorySwap, _about("How containers may use swap.")] = MemorySwap()
    single_process_oom_kill: Annotated[
        bool | None,
        _about(
            "Let the kernel kill single processes; unset: true on cgroup v1, false on v2.",
        ),
    ] = field(default=None, name="singleProcessOOMKill")
    oom_score_adj: Annotated[Int32, _about("The kubelet's own score.")] = -999
    feature_gates: Annotated[dict[str, bool], _about("Features by name.")] = field(default_factory=dict)

    pod_logs_dir: Annotated[str, _about("Where the pods' logs are.")] = "/var/log/pods"
    static_pod_path: Annotated[str, _about("Where static pods' manifests are.")] = ""
    container_runtime_endpoint: Annotated[str, _about("The runtime's socket.")] = (
        "unix:///run/containerd/containerd.sock"
    )
    image_service_endpoint: Annotated[str, _about("The image service's socket; empty: the runtime's.")] = ""
    runtime_request_timeout: Annotated[Duration, _about("How long a call to the runtime may take.")] = Duration(
        2 * MINUTE
    )
    event_record_qps: Annotated[Int32, _about("Events a second at most; 0: no limit.")] = field(
        default=50, name="eventRecordQPS"
    )
    event_burst: Annotated[Int32, _about("Events at once at most.")] = 100


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
"""Fields for which a file cannot say zero: `SetDefaults_KubeletConfiguration` takes it for 'not set'."""

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
"""Known, and of no concern here."""

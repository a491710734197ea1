"""Declares and validates `EvictdConfiguration` (evictd.io/v1alpha1), the settings that the kubelet's configuration lacks.

`about` declares the rules of each field; the JSON Schema, the reference and the reload follow them (`fields`).
"""

from collections.abc import Iterator, Mapping
from enum import Enum
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, field

from evictd.codec.config.fields import THRESHOLDS, about, range_problems
from evictd.codec.config.kubelet_versions import KubernetesVersion
from evictd.codec.config.pressure_fields import StallFields, SwapFields, pressure_problems, swap_problems
from evictd.codec.config.reclaim_fields import ReclaimFields
from evictd.codec.strict import Duration, Size, decode
from evictd.core.model.config import EvictionMethod, FastFill, MemoryFormula, PodGroup, Policy, Preferences
from evictd.core.model.problem import ConfigProblem, quoted
from evictd.core.units.duration import MINUTE, SECOND

_KIB, _MIB = 2**10, 2**20

API_VERSION = "evictd.io/v1alpha1"
KIND = "EvictdConfiguration"


class ConditionTypes(Enum):
    """The types of the node's pressure conditions (`cluster.conditionTypes`)."""

    AUTO = "Auto"
    BUILT_IN = "BuiltIn"
    OWN = "Own"


class TaintEffect(Enum):
    """What evictd's taints do to pods that do not tolerate them (`cluster.taintEffect`)."""

    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"


class MemoryQoSMode(Enum):
    """What to do about cgroups that lack the kubelet's Memory QoS values (`memoryQoS`)."""

    OFF = "Off"
    REPORT = "Report"
    ENFORCE = "Enforce"


class OomScoreAdj(Enum):
    """What to do about containers whose oom_score_adj differs from the kubelet's rule."""

    REPORT = "Report"
    ENFORCE = "Enforce"


class ClusterSettings(msgspec.Struct, kw_only=True, frozen=True, rename="camel"):
    """Settings for the API server."""

    kubeconfig: Annotated[
        str,
        about(
            "Path of a kubeconfig, or `in-cluster` for the pod's service account; empty: standalone, without an API server."
        ),
    ] = ""
    node_name: Annotated[str, about("Name of the Node object; empty: the host name.")] = ""
    pod_termination: Annotated[
        EvictionMethod,
        about(
            "EvictionAPI honours PodDisruptionBudgets, Delete deletes with the grace period, Status stops the containers and "
            "sets the pod's status, as the kubelet does. Auto uses EvictionAPI for soft and Delete for hard thresholds, and "
            "Status if no kubelet serves the node.",
            sets="pod_termination",
        ),
    ] = EvictionMethod.AUTO
    condition_types: Annotated[
        ConditionTypes,
        about(
            "BuiltIn reports MemoryPressure, DiskPressure and PIDPressure; Own reports EvictdMemoryPressure and so on; Auto "
            "uses Own if a kubelet reports the built-in ones."
        ),
    ] = ConditionTypes.AUTO
    taints: Annotated[
        bool,
        about(
            "Taint the node while it is under pressure; applies to conditions of type Own. Without taints an evicted pod may "
            "come back at once, and under a hard threshold it is evicted each time.",
            sets="keep_away",
        ),
    ] = True
    taint_effect: Annotated[
        TaintEffect,
        about(
            "NoSchedule keeps every pod without a toleration away, those of DaemonSets included; PreferNoSchedule is a wish: the "
            "scheduler takes another node where there is one."
        ),
    ] = TaintEffect.NO_SCHEDULE
    eviction_timeout: Annotated[
        Duration,
        about(
            "How long Auto retries the Eviction API while a PodDisruptionBudget refuses, before it deletes the pod.",
            sets="eviction_timeout",
            least=0,
        ),
    ] = Duration(60 * SECOND)
    evicted_pod_ttl: Annotated[
        Duration, about("Age at which Failed pods that evictd evicted are deleted; 0s: they are kept.", least=0)
    ] = field(default=Duration(0), name="evictedPodTTL")

    @property
    def standalone(self) -> bool:
        """Whether no API server is configured."""
        return not self.kubeconfig


class PodGroupFields(msgspec.Struct, kw_only=True, frozen=True, rename="camel"):
    """Pods of these namespaces that have all these labels."""

    namespaces: Annotated[tuple[str, ...], about("Names of namespaces; empty: every namespace.")] = ()
    labels: Annotated[dict[str, str], about("Labels with their values; a pod has to have all of them.")] = {}


class RankingFields(msgspec.Struct, kw_only=True, frozen=True, rename="camel"):
    """Which pods go earlier or later than their priority says; policy Standard."""

    prefer: Annotated[
        tuple[PodGroupFields, ...],
        about(
            "Pods that go before the others that exceed their requests, or before the others that do not. Of a pod 256 "
            "labels are read."
        ),
    ] = ()
    avoid: Annotated[
        tuple[PodGroupFields, ...],
        about(
            "Pods that go after those others; counts where `prefer` matches too. Labels are written by a pod's author, so here "
            "they need namespaces beside them."
        ),
    ] = ()

    def core(self) -> Preferences:
        """Return the core's form of the groups."""
        prefer, avoid = (
            tuple(PodGroup(namespaces=frozenset(one.namespaces), labels=one.labels) for one in groups)
            for groups in (self.prefer, self.avoid)
        )
        return Preferences(prefer=prefer, avoid=avoid)


class EvictionLimitFields(msgspec.Struct, kw_only=True, frozen=True, rename="camel"):
    """The limit of evictions for pressure: `pods` within `per`; policy Standard."""

    pods: Annotated[
        Annotated[int, Meta(ge=0, le=10_000)],
        about(
            "Number of pods that may be evicted for pressure within `per`; 0: no limit. It holds under hard thresholds too: a "
            "node at its limit is left to the OOM killer or a full disk. Pods over a limit of their own do not count.",
            sets="eviction_limit.pods",
            live=True,
        ),
    ] = 0
    per: Annotated[
        Duration,
        about("The time for which an eviction counts.", sets="eviction_limit.per", live=True, least=SECOND),
    ] = Duration(10 * MINUTE)


class Memory(msgspec.Struct, kw_only=True, frozen=True, rename="camel"):
    """How memory is measured."""

    formula: Annotated[
        MemoryFormula,
        about(
            "WorkingSet is the kubelet's formula; MemAvailable counts active page cache as available, but not the kernel's own "
            "memory; Lowest is the lower. Auto: Lowest for hard thresholds, WorkingSet for soft, under policy Kubelet, with ZFS.",
            sets="memory_formula",
            live=True,
        ),
    ] = MemoryFormula.AUTO
    lead: Annotated[
        FastFill,
        about(
            "Auto acts on a hard memory threshold before it is crossed, while what is left at the measured fill rate lasts"
            " less than a stop on this node and half a second, at least a second.",
            sets="memory_lead",
            live=True,
        ),
    ] = FastFill.OFF
    watch: Annotated[
        bool, about("Start a cycle when the kernel signals memory pressure, not only once per interval.")
    ] = True


class DiskSettings(msgspec.Struct, kw_only=True, frozen=True, rename="camel"):
    """When a disk is acted on."""

    lead: Annotated[
        FastFill,
        about(
            "Auto acts on a hard disk threshold before it is crossed, while what is left at the measured fill rate lasts less"
            " than a reclaim and a stop on this node and half a second, at least a second.",
            sets="disk_lead",
            live=True,
        ),
    ] = FastFill.OFF
    freeze: Annotated[
        FastFill,
        about(
            "Auto freezes the containers of a pod that is evicted by a hard disk threshold while what is left lasts less than"
            " 2s, until 0.2s before they are killed. Policy Standard.",
            sets="disk_freeze",
            live=True,
        ),
    ] = FastFill.OFF


class HookSettings(msgspec.Struct, kw_only=True, frozen=True, rename="camel"):
    """Commands around evictions; off by default, see docs/hooks.md for their dangers."""

    before: Annotated[
        tuple[str, ...],
        about("Absolute path and arguments of what is started when a pod's eviction begins; nothing waits for it."),
    ] = ()
    after: Annotated[
        tuple[str, ...], about("Absolute path and arguments of what is started once an evicted pod is gone.")
    ] = ()
    time_limit: Annotated[
        Duration,
        about("How long a command may run before it is killed; at most 5m.", least=SECOND // 10, most=5 * MINUTE),
    ] = Duration(10 * SECOND)


class Journal(msgspec.Struct, kw_only=True, frozen=True, rename="camel"):
    """The journal of decisions in `stateDirectory`."""

    max_file_size: Annotated[Size, about("Size at which a new journal file is started.", least=64 * _KIB)] = Size(
        16 * _MIB
    )
    max_files: Annotated[Annotated[int, Meta(ge=1, le=1000)], about("Number of journal files that are kept.")] = 4
    log_tails: Annotated[
        bool, about("Keep the last 4 KiB of each container's log of a victim, which may contain secrets.")
    ] = True


class EvictdConfiguration(msgspec.Struct, kw_only=True, frozen=True, rename="camel"):
    """evictd's own configuration, beside the kubelet's."""

    decision_policy: Annotated[
        Policy,
        about(
            "Standard is the kubelet's documented behaviour; Kubelet ranks and decides as the code of Kubernetes 1.36.",
            sets="policy",
            live=True,
        ),
    ] = Policy.STANDARD
    dry_run: Annotated[
        bool, about("Decide and report, but change nothing on the node or in the cluster.", live=True, explicit=True)
    ] = False
    housekeeping_interval: Annotated[
        Duration,
        about(
            "Time between two cycles on a node without pressure (the kubelet's eviction monitoring interval).",
            sets="monitoring_period",
            live=True,
            least=SECOND // 10,
        ),
    ] = Duration(10 * SECOND)
    cluster: Annotated[ClusterSettings, about("Settings for the API server.")] = ClusterSettings()
    allow_api_pods_standalone: Annotated[
        bool,
        about(
            "Without an API server, act also where the runtime runs pods of one (`kubernetes.io/config.source=api`). Their "
            "requests and priorities are unknown then (a container with `oom_score_adj` -997 makes its pod critical), and their "
            "kubelet evicts too. false: evictd only reports there.",
            sets="allow_api_pods_standalone",
            live=True,
        ),
    ] = False
    reclaim: Annotated[ReclaimFields, about("What may be freed before a pod is evicted.")] = ReclaimFields()
    ranking: Annotated[
        RankingFields,
        about(
            "Which pods go earlier or later than their priority says; policy Standard.", sets="preferences", live=True
        ),
    ] = RankingFields()
    eviction_limit: Annotated[
        EvictionLimitFields, about("The limit of evictions for pressure: at most `pods` within `per`; policy Standard.")
    ] = EvictionLimitFields()
    memory: Annotated[Memory, about("How memory is measured.")] = Memory()
    disk: Annotated[DiskSettings, about("When a disk is acted on.")] = DiskSettings()
    hooks: Annotated[HookSettings, about("Commands around evictions; off by default.")] = HookSettings()
    pressure: Annotated[
        tuple[StallFields, ...],
        about(
            "Thresholds on thrashing: the share of time that tasks stall for memory or I/O (policy Standard).",
            sets=THRESHOLDS,
            live=True,
        ),
    ] = ()
    swap: Annotated[
        tuple[SwapFields, ...],
        about(
            "Thresholds on the node's free swap (policy Standard); pods are measured on cgroup v2 only.",
            sets=THRESHOLDS,
            live=True,
        ),
    ] = ()
    journal: Annotated[Journal, about("The journal of decisions in stateDirectory.")] = Journal()
    oom_score_adj: Annotated[
        OomScoreAdj,
        about("Report containers whose oom_score_adj differs from the kubelet's rule, or correct it (Enforce)."),
    ] = OomScoreAdj.REPORT
    memory_qos: Annotated[
        MemoryQoSMode,
        about(
            "On cgroup v2, compare memory.min, memory.low and memory.high of pods and containers with the kubelet's Memory QoS "
            "values (memoryThrottlingFactor, memoryReservationPolicy): Report shows them in `evictd explain`, Enforce sets them."
        ),
    ] = field(default=MemoryQoSMode.OFF, name="memoryQoS")
    kubernetes_version: Annotated[
        KubernetesVersion, about("Whose defaults unset fields of the kubelet have; Auto: the node's, else 1.36.")
    ] = KubernetesVersion.AUTO
    root_dir: Annotated[Path, about("Directory of the kubelet's pods and volumes (--root-dir).")] = Path(
        "/var/lib/kubelet"
    )
    state_directory: Annotated[Path, about("Directory of the state, the journal and conditions.json.")] = Path(
        "/var/lib/evictd"
    )
    listen_address: Annotated[
        str, about("Loopback address and port for metrics, health and status; empty: evictd does not listen.")
    ] = "127.0.0.1:10277"


def decode_evictd(fields: Mapping[str, object]) -> tuple[EvictdConfiguration, list[ConfigProblem]]:
    """Read the fields strictly: unknown fields and wrong types are problems, absent fields take their defaults."""
    own = {name: one for name, one in fields.items() if name not in {"apiVersion", "kind"}}
    return decode(EvictdConfiguration, own)


def validate_evictd(config: EvictdConfiguration) -> list[ConfigProblem]:
    """List the values that have the right type but are invalid."""
    return [
        *range_problems(config),
        *pressure_problems(config.pressure),
        *swap_problems(config.swap),
        *_paths(config),
        *_ranking(config),
        *_hooks(config.hooks),
        *_listen_address(config.listen_address),
    ]


def _paths(config: EvictdConfiguration) -> Iterator[ConfigProblem]:
    for path, value in (("rootDir", config.root_dir), ("stateDirectory", config.state_directory)):
        if not value.is_absolute() or "\0" in str(value):
            yield ConfigProblem(
                path=path, value=quoted(str(value)), wrong="is not an absolute path", remedy="begin it with /"
            )
    if "\0" in config.cluster.kubeconfig:
        written, wrong = quoted(config.cluster.kubeconfig), "has a NUL character, which no path can have"
        yield ConfigProblem(path="cluster.kubeconfig", value=written, wrong=wrong, remedy="write it without")


def _hooks(hooks: HookSettings) -> Iterator[ConfigProblem]:
    for name, command in (("before", hooks.before), ("after", hooks.after)):
        if command and (not command[0].startswith("/") or any("\0" in each for each in command)):
            wrong, remedy = "is not an absolute path", "give the program's path and arguments as a list, no shell"
            yield ConfigProblem(path=f"hooks.{name}", value=quoted(command[0]), wrong=wrong, remedy=remedy)


def _ranking(config: EvictdConfiguration) -> Iterator[ConfigProblem]:
    for name, groups in (("prefer", config.ranking.prefer), ("avoid", config.ranking.avoid)):
        for index, group in enumerate(groups):
            path = f"ranking.{name}[{index}]"
            if not group.namespaces and not group.labels:
                remedy = "give namespaces or labels"
                yield ConfigProblem(path=path, value="{}", wrong="matches every pod", remedy=remedy)
            elif name == "avoid" and not group.namespaces:
                # Else any pod's author could write the label and be evicted last.
                wrong, remedy = "has labels without namespaces", "give the namespaces whose pods may have them"
                yield ConfigProblem(path=path, value=quoted(" ".join(group.labels)), wrong=wrong, remedy=remedy)


def _listen_address(address: str) -> Iterator[ConfigProblem]:
    host, _, port = address.rpartition(":")
    try:
        loopback = not address or ip_address(host.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        loopback = False
    if not loopback or (address and not (port.isascii() and port.isdigit() and int(port) <= 65535)):
        wrong, remedy = "is not a loopback address with a port", "give 127.0.0.1:10277, or nothing for none"
        yield ConfigProblem(path="listenAddress", value=quoted(address), wrong=wrong, remedy=remedy)

"""Declares and validates `EvictdConfiguration` (evictd.io/v1alpha1), the settings that the kubelet's configuration lacks.

Each field's description goes into the JSON Schema and into docs/configuration.md.
"""

from collections.abc import Iterator, Mapping
from enum import Enum
from ipaddress import ip_address
from typing import Annotated

import msgspec
from msgspec import Meta, field

from evictd.codec.config.pressure_fields import StallFields, SwapFields, pressure_problems, swap_problems
from evictd.codec.strict import Duration, decode
from evictd.core.eviction.eviction_method import EvictionMethod
from evictd.core.model.config import ImageReclaim, MemoryFormula, MemoryLead, PodGroup, Policy, Preferences
from evictd.core.model.problem import ConfigProblem, quoted
from evictd.core.units.duration import MINUTE, SECOND, format_duration
from evictd.core.units.quantity import parse_quantity
from evictd.errors import InvalidValueError

API_VERSION = "evictd.io/v1alpha1"
KIND = "EvictdConfiguration"


class ConditionTypes(Enum):
    """ConditionTypes of the node's pressure conditions (`cluster.conditionTypes`)."""

    AUTO = "Auto"
    BUILT_IN = "BuiltIn"
    OWN = "Own"


class MemoryQoSMode(Enum):
    """What to do about cgroups that lack the kubelet's Memory QoS values (`memoryQoS`)."""

    OFF = "Off"
    REPORT = "Report"
    ENFORCE = "Enforce"


class OomScoreAdj(Enum):
    """What to do about containers whose oom_score_adj differs from the kubelet's rule."""

    REPORT = "Report"
    ENFORCE = "Enforce"


def _about(text: str) -> Meta:
    return Meta(description=text)


class ClusterFields(msgspec.Struct, kw_only=True, frozen=True, rename="camel"):
    """Settings for the API server."""

    kubeconfig: Annotated[
        str,
        _about(
            "Path of a kubeconfig, or `in-cluster` for the pod's service account; empty: standalone, without an API server."
        ),
    ] = ""
    node_name: Annotated[str, _about("Name of the Node object; empty: the host name.")] = ""
    pod_termination: Annotated[
        EvictionMethod,
        _about(
            "EvictionAPI honours PodDisruptionBudgets, Delete deletes with the grace period, Status stops the containers and "
            "sets the pod's status, as the kubelet does. Auto uses EvictionAPI for soft and Delete for hard thresholds, and "
            "Status if no kubelet serves the node."
        ),
    ] = EvictionMethod.AUTO
    condition_types: Annotated[
        ConditionTypes,
        _about(
            "BuiltIn reports MemoryPressure, DiskPressure and PIDPressure; Own reports EvictdMemoryPressure and so on; Auto "
            "uses Own if a kubelet reports the built-in ones."
        ),
    ] = ConditionTypes.AUTO
    taints: Annotated[bool, _about("Taint the node while it is under pressure; applies to conditions of type Own.")] = (
        True
    )
    eviction_timeout: Annotated[
        Duration,
        _about(
            "How long Auto retries the Eviction API while a PodDisruptionBudget refuses, before it deletes the pod."
        ),
    ] = Duration(60 * SECOND)
    evicted_pod_ttl: Annotated[
        Duration, _about("Age at which Failed pods that evictd evicted are deleted; 0s: they are kept.")
    ] = field(default=Duration(0), name="evictedPodTTL")


class ReclaimFields(msgspec.Struct, kw_only=True, frozen=True, rename="camel"):
    """What may be freed before a pod is evicted."""

    containers: Annotated[bool, _about("Delete dead containers.")] = True
    images: Annotated[
        ImageReclaim,
        _about("Delete all unused images, as many as needed, or none (Off: for images that cannot be pulled again)."),
    ] = ImageReclaim.ALL
    keep_images: Annotated[
        tuple[str, ...], _about("Patterns (`*`, `?`, `[...]`) of tags and digests; matching images are never deleted.")
    ] = ()


class PodGroupFields(msgspec.Struct, kw_only=True, frozen=True, rename="camel"):
    """Pods of these namespaces that have all these labels."""

    namespaces: Annotated[tuple[str, ...], _about("Names of namespaces; empty: every namespace.")] = ()
    labels: Annotated[dict[str, str], _about("Labels with their values; a pod has to have all of them.")] = {}


class RankingFields(msgspec.Struct, kw_only=True, frozen=True, rename="camel"):
    """Which pods go earlier or later than their priority says; policy Standard."""

    prefer: Annotated[
        tuple[PodGroupFields, ...],
        _about("Pods that go before the others that exceed their requests, or before the others that do not."),
    ] = ()
    avoid: Annotated[
        tuple[PodGroupFields, ...],
        _about(
            "Pods that go after those others; counts where `prefer` matches too. Labels are written by a pod's author, so here "
            "they need namespaces beside them."
        ),
    ] = ()


class Memory(msgspec.Struct, kw_only=True, frozen=True, rename="camel"):
    """How memory is measured."""

    formula: Annotated[
        MemoryFormula,
        _about(
            "WorkingSet is the kubelet's formula; MemAvailable counts active page cache as available, but not the kernel's own "
            "memory, reserves and huge pages; Lowest is the lower of both."
        ),
    ] = MemoryFormula.WORKING_SET
    lead: Annotated[
        MemoryLead,
        _about(
            "Auto acts on a hard memory threshold before it is crossed, while what is left at the measured fill rate lasts"
            " less than an eviction takes on this node, at least a second."
        ),
    ] = MemoryLead.OFF
    watch: Annotated[
        bool, _about("Start a cycle when the kernel signals memory pressure, not only once per interval.")
    ] = True


class HookFields(msgspec.Struct, kw_only=True, frozen=True, rename="camel"):
    """Commands around evictions; off by default, see docs/hooks.md for their dangers."""

    before: Annotated[
        tuple[str, ...],
        _about("Absolute path and arguments of what is started when a pod's eviction begins; nothing waits for it."),
    ] = ()
    after: Annotated[
        tuple[str, ...], _about("Absolute path and arguments of what is started once an evicted pod is gone.")
    ] = ()
    time_limit: Annotated[Duration, _about("How long a command may run before it is killed; at most 5m.")] = Duration(
        10 * SECOND
    )


class Journal(msgspec.Struct, kw_only=True, frozen=True, rename="camel"):
    """The journal of decisions in `stateDirectory`."""

    max_file_size: Annotated[str, _about("Size at which a new journal file is started.")] = "16Mi"
    max_files: Annotated[Annotated[int, Meta(ge=1, le=1000)], _about("Number of journal files that are kept.")] = 4
    log_tails: Annotated[
        bool, _about("Keep the last 4 KiB of each container's log of a victim, which may contain secrets.")
    ] = True


class EvictdConfiguration(msgspec.Struct, kw_only=True, frozen=True, rename="camel"):
    """evictd's own configuration, beside the kubelet's."""

    decision_policy: Annotated[
        Policy,
        _about(
            "Standard is the kubelet's documented behaviour; Kubelet decides exactly as the code of Kubernetes 1.36."
        ),
    ] = Policy.STANDARD
    dry_run: Annotated[bool, _about("Decide and report, but change nothing on the node or in the cluster.")] = False
    housekeeping_interval: Annotated[
        Duration,
        _about("Time between two cycles on a node without pressure (the kubelet's eviction monitoring interval)."),
    ] = Duration(10 * SECOND)
    cluster: Annotated[ClusterFields, _about("Settings for the API server.")] = ClusterFields()
    allow_api_pods_standalone: Annotated[
        bool,
        _about(
            "Without an API server, act also where the runtime runs pods of one (`kubernetes.io/config.source=api`). Their "
            "requests and priorities are unknown then, and their kubelet evicts too. false: evictd only reports there."
        ),
    ] = False
    reclaim: Annotated[ReclaimFields, _about("What may be freed before a pod is evicted.")] = ReclaimFields()
    ranking: Annotated[
        RankingFields, _about("Which pods go earlier or later than their priority says; policy Standard.")
    ] = RankingFields()
    memory: Annotated[Memory, _about("How memory is measured.")] = Memory()
    hooks: Annotated[HookFields, _about("Commands around evictions; off by default.")] = HookFields()
    pressure: Annotated[
        tuple[StallFields, ...],
        _about("Thresholds on thrashing: the share of time that tasks stall for memory or I/O (policy Standard)."),
    ] = ()
    swap: Annotated[
        tuple[SwapFields, ...],
        _about("Thresholds on the node's free swap (policy Standard); pods are measured on cgroup v2 only."),
    ] = ()
    journal: Annotated[Journal, _about("The journal of decisions in stateDirectory.")] = Journal()
    oom_score_adj: Annotated[
        OomScoreAdj,
        _about("Report containers whose oom_score_adj differs from the kubelet's rule, or correct it (Enforce)."),
    ] = OomScoreAdj.REPORT
    memory_qos: Annotated[
        MemoryQoSMode,
        _about(
            "On cgroup v2, compare memory.min, memory.low and memory.high of pods and containers with the kubelet's Memory QoS "
            "values (memoryThrottlingFactor, memoryReservationPolicy): Report shows them in `evictd explain`, Enforce sets them."
        ),
    ] = field(default=MemoryQoSMode.OFF, name="memoryQoS")
    root_dir: Annotated[str, _about("Directory of the kubelet's pods and volumes (its --root-dir).")] = (
        "/var/lib/kubelet"
    )
    state_directory: Annotated[str, _about("Directory of the state, the journal and conditions.json.")] = (
        "/var/lib/evictd"
    )
    listen_address: Annotated[
        str, _about("Loopback address and port for metrics, health and status; empty: evictd does not listen.")
    ] = "127.0.0.1:10277"


def decode_evictd(fields: Mapping[str, object]) -> tuple[EvictdConfiguration, list[ConfigProblem]]:
    """Read the fields strictly: unknown fields and wrong types are problems, absent fields take their defaults."""
    return decode(
        EvictdConfiguration, {name: one for name, one in fields.items() if name not in {"apiVersion", "kind"}}
    )


def validate_evictd(config: EvictdConfiguration) -> list[ConfigProblem]:
    """List the values that have the right type but are invalid."""
    return [
        *_durations(config),
        *pressure_problems(config.pressure),
        *swap_problems(config.swap),
        *_paths(config),
        *_ranking(config),
        *_hooks(config.hooks),
        *_journal(config.journal),
        *_listen_address(config.listen_address),
    ]


def _durations(config: EvictdConfiguration) -> Iterator[ConfigProblem]:
    if config.housekeeping_interval < SECOND // 10:
        yield _problem("housekeepingInterval", config.housekeeping_interval, "is too short", "give at least 100ms")
    if config.cluster.eviction_timeout < 0:
        yield _problem("cluster.evictionTimeout", config.cluster.eviction_timeout, "is negative", "give 0s or more")
    if config.cluster.evicted_pod_ttl < 0:
        yield _problem("cluster.evictedPodTTL", config.cluster.evicted_pod_ttl, "is negative", "give 0s to keep them")


def _problem(path: str, value: int, wrong: str, remedy: str) -> ConfigProblem:
    return ConfigProblem(path=path, value=format_duration(value), wrong=wrong, remedy=remedy)


def _paths(config: EvictdConfiguration) -> Iterator[ConfigProblem]:
    for path, value in (("rootDir", config.root_dir), ("stateDirectory", config.state_directory)):
        if not value.startswith("/") or "\0" in value:
            yield ConfigProblem(
                path=path, value=quoted(value), wrong="is not an absolute path", remedy="begin it with /"
            )


def _hooks(hooks: HookFields) -> Iterator[ConfigProblem]:
    for name, command in (("before", hooks.before), ("after", hooks.after)):
        if command and (not command[0].startswith("/") or any("\0" in each for each in command)):
            wrong, remedy = (
                "is not an absolute path",
                "give the program's path and arguments as a list, without a shell",
            )
            yield ConfigProblem(path=f"hooks.{name}", value=quoted(command[0]), wrong=wrong, remedy=remedy)
    if not SECOND // 10 <= hooks.time_limit <= 5 * MINUTE:
        yield _problem("hooks.timeLimit", hooks.time_limit, "is out of range", "give 100ms to 5m")


def _ranking(config: EvictdConfiguration) -> Iterator[ConfigProblem]:
    for name, groups in (("prefer", config.ranking.prefer), ("avoid", config.ranking.avoid)):
        for index, group in enumerate(groups):
            path = f"ranking.{name}[{index}]"
            if not group.namespaces and not group.labels:
                yield ConfigProblem(
                    path=path, value="{}", wrong="matches every pod", remedy="give namespaces or labels"
                )
            elif name == "avoid" and not group.namespaces:
                # Else any pod's author could write the label and be evicted last.
                wrong, remedy = "has labels without namespaces", "give the namespaces whose pods may have them"
                yield ConfigProblem(path=path, value=quoted(" ".join(group.labels)), wrong=wrong, remedy=remedy)


def preferences(ranking: RankingFields) -> Preferences:
    """Give the core's form of the groups."""
    prefer, avoid = (
        tuple(PodGroup(namespaces=frozenset(one.namespaces), labels=one.labels) for one in groups)
        for groups in (ranking.prefer, ranking.avoid)
    )
    return Preferences(prefer=prefer, avoid=avoid)


def journal_file_bytes(journal: Journal) -> int:
    """Give `maxFileSize` in bytes; raises `InvalidValueError`."""
    size = parse_quantity(journal.max_file_size).value()
    if size < 64 * 1024:
        raise InvalidValueError("is too small")
    return size


def _journal(journal: Journal) -> Iterator[ConfigProblem]:
    try:
        journal_file_bytes(journal)
    except InvalidValueError as error:
        remedy = "give at least 64Ki, such as 16Mi"
        yield ConfigProblem(
            path="journal.maxFileSize", value=quoted(journal.max_file_size), wrong=str(error), remedy=remedy
        )


def _listen_address(address: str) -> Iterator[ConfigProblem]:
    host, _, port = address.rpartition(":")
    try:
        loopback = not address or ip_address(host.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        loopback = False
    if not loopback or (address and not (port.isascii() and port.isdigit() and int(port) <= 65535)):
        wrong, remedy = "is not a loopback address with a port", "give 127.0.0.1:10277, or nothing for none"
        yield ConfigProblem(path="listenAddress", value=quoted(address), wrong=wrong, remedy=remedy)

"""The fields of `EvictdConfiguration` (evictd.io/v1alpha1): everything the kubelet's configuration has no field for.

Each field's description says what it does, its unit and its default; the JSON Schema and docs/configuration.md repeat it.
"""

from collections.abc import Iterator, Mapping
from enum import Enum
from ipaddress import ip_address
from typing import Annotated

import msgspec
from msgspec import Meta, field

from evictd.codec.strict import Duration, decode
from evictd.core.config import ImageReclaim, Policy
from evictd.core.duration import SECOND, format_duration
from evictd.core.problem import Problem, quoted
from evictd.core.quantity import parse_quantity
from evictd.errors import InvalidValueError

API_VERSION = "evictd.io/v1alpha1"
KIND = "EvictdConfiguration"

Count = Annotated[int, Meta(ge=0, le=2**31 - 1)]


class PodTermination(Enum):
    """How a pod is ended in a cluster."""

    AUTO = "Auto"
    EVICTION_API = "EvictionAPI"
    DELETE = "Delete"
    STATUS = "Status"


class ConditionTypes(Enum):
    """Under which names the node's pressure conditions are reported."""

    AUTO = "Auto"
    BUILT_IN = "BuiltIn"
    OWN = "Own"


class MemoryFormula(Enum):
    """What counts as available memory."""

    WORKING_SET = "WorkingSet"
    MEM_AVAILABLE = "MemAvailable"


class OomScoreAdj(Enum):
    """What to do about containers whose oom_score_adj is not what the kubelet would have set."""

    REPORT = "Report"
    ENFORCE = "Enforce"


def _about(text: str) -> Meta:
    return Meta(description=text)


class Cluster(msgspec.Struct, kw_only=True, frozen=True, rename="camel"):
    """How to live in a cluster."""

    kubeconfig: Annotated[
        str, _about("Path of a kubeconfig, or `in-cluster` for the pod's service account; empty: no API server.")
    ] = ""
    node_name: Annotated[str, _about("The Node object's name; empty: the host name.")] = ""
    pod_termination: Annotated[
        PodTermination,
        _about(
            "EvictionAPI honours PodDisruptionBudgets, Delete deletes with the grace period, Status does what the kubelet "
            "itself does; Auto takes the first for soft and the second for hard thresholds, and Status where no kubelet is."
        ),
    ] = PodTermination.AUTO
    condition_types: Annotated[
        ConditionTypes,
        _about(
            "BuiltIn reports MemoryPressure, DiskPressure, PIDPressure; Own reports EvictdMemoryPressure and so on; Auto takes "
            "Own where a kubelet reports the built-in ones."
        ),
    ] = ConditionTypes.AUTO
    taints: Annotated[
        bool, _about("Taint the node while it is under pressure, where the conditions are evictd's own.")
    ] = True
    eviction_timeout: Annotated[
        Duration, _about("How long Auto tries the Eviction API against a PodDisruptionBudget before it deletes.")
    ] = Duration(60 * SECOND)
    evicted_pod_ttl: Annotated[
        Duration, _about("When Failed pods that evictd itself evicted are deleted; 0s: they are kept.")
    ] = field(default=Duration(0), name="evictedPodTTL")


class Reclaim(msgspec.Struct, kw_only=True, frozen=True, rename="camel"):
    """What may be freed before a pod must go."""

    containers: Annotated[bool, _about("Delete dead containers.")] = True
    images: Annotated[
        ImageReclaim, _about("Delete all unused images, just enough of them, or none (Off: they were loaded by hand).")
    ] = ImageReclaim.ALL
    keep_images: Annotated[
        tuple[str, ...], _about("Patterns (`*`, `?`, `[...]`) over tags and digests that are never deleted.")
    ] = ()


class Memory(msgspec.Struct, kw_only=True, frozen=True, rename="camel"):
    """How memory is looked at."""

    formula: Annotated[
        MemoryFormula,
        _about(
            "WorkingSet is the kubelet's; MemAvailable counts active page cache as available and huge pages as not."
        ),
    ] = MemoryFormula.WORKING_SET
    watch: Annotated[
        bool, _about("Look at once when the kernel signals memory pressure, not only once an interval.")
    ] = True


class Journal(msgspec.Struct, kw_only=True, frozen=True, rename="camel"):
    """How much of the record of decisions is kept, in `stateDirectory`."""

    max_file_size: Annotated[str, _about("Size at which a new file is begun.")] = "16Mi"
    max_files: Annotated[Annotated[int, Meta(ge=1, le=1000)], _about("How many files are kept.")] = 4


class EvictdConfiguration(msgspec.Struct, kw_only=True, frozen=True, rename="camel"):
    """What evictd is asked to do beside the kubelet's own configuration."""

    decision_policy: Annotated[
        Policy,
        _about("Standard is the documented behaviour; Kubelet decides exactly as the code of Kubernetes 1.36 does."),
    ] = Policy.STANDARD
    dry_run: Annotated[bool, _about("Decide and report, but touch nothing.")] = False
    housekeeping_interval: Annotated[
        Duration,
        _about("How long a calm node is left alone between two looks (the kubelet's eviction monitoring interval)."),
    ] = Duration(10 * SECOND)
    cluster: Annotated[Cluster, _about("How to live in a cluster.")] = Cluster()
    reclaim: Annotated[Reclaim, _about("What may be freed before a pod must go.")] = Reclaim()
    memory: Annotated[Memory, _about("How memory is looked at.")] = Memory()
    journal: Annotated[Journal, _about("How much of the record of decisions is kept.")] = Journal()
    oom_score_adj: Annotated[
        OomScoreAdj, _about("Report containers whose oom_score_adj differs from the kubelet's rule, or put it right.")
    ] = OomScoreAdj.REPORT
    root_dir: Annotated[str, _about("Where the kubelet keeps pods and volumes (its --root-dir).")] = "/var/lib/kubelet"
    state_directory: Annotated[str, _about("Where state, journal and conditions.json are kept.")] = "/var/lib/evictd"
    listen_address: Annotated[str, _about("Loopback address and port of metrics, health and status; empty: none.")] = (
        "127.0.0.1:10258"
    )


def decode_evictd(fields: Mapping[str, object]) -> tuple[EvictdConfiguration, list[Problem]]:
    """Read the fields strictly; unknown ones and wrong types are problems, absent ones take their defaults."""
    return decode(
        EvictdConfiguration, {name: one for name, one in fields.items() if name not in {"apiVersion", "kind"}}
    )


def validate_evictd(config: EvictdConfiguration) -> list[Problem]:
    """List what is readable but cannot be."""
    return [*_durations(config), *_paths(config), *_journal(config.journal), *_listen_address(config.listen_address)]


def _durations(config: EvictdConfiguration) -> Iterator[Problem]:
    if config.housekeeping_interval < SECOND // 10:
        yield _problem("housekeepingInterval", config.housekeeping_interval, "is too short", "give at least 100ms")
    if config.cluster.eviction_timeout < 0:
        yield _problem("cluster.evictionTimeout", config.cluster.eviction_timeout, "is negative", "give 0s or more")
    if config.cluster.evicted_pod_ttl < 0:
        yield _problem("cluster.evictedPodTTL", config.cluster.evicted_pod_ttl, "is negative", "give 0s to keep them")


def _problem(path: str, value: int, wrong: str, remedy: str) -> Problem:
    return Problem(path=path, value=format_duration(value), wrong=wrong, remedy=remedy)


def _paths(config: EvictdConfiguration) -> Iterator[Problem]:
    for path, value in (("rootDir", config.root_dir), ("stateDirectory", config.state_directory)):
        if not value.startswith("/") or "\0" in value:
            yield Problem(path=path, value=quoted(value), wrong="is not an absolute path", remedy="begin it with /")


def journal_file_bytes(journal: Journal) -> int:
    """Give `maxFileSize` in bytes; raises `InvalidValueError`."""
    size = parse_quantity(journal.max_file_size).value()
    if size < 64 * 1024:
        raise InvalidValueError("is too small")
    return size


def _journal(journal: Journal) -> Iterator[Problem]:
    try:
        journal_file_bytes(journal)
    except InvalidValueError as error:
        remedy = "give at least 64Ki, such as 16Mi"
        yield Problem(path="journal.maxFileSize", value=quoted(journal.max_file_size), wrong=str(error), remedy=remedy)


def _listen_address(address: str) -> Iterator[Problem]:
    host, _, port = address.rpartition(":")
    try:
        loopback = not address or ip_address(host.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        loopback = False
    if not loopback or (address and not (port.isascii() and port.isdigit() and int(port) <= 65535)):
        wrong, remedy = "is not a loopback address with a port", "give 127.0.0.1:10258, or nothing for none"
        yield Problem(path="listenAddress", value=quoted(address), wrong=wrong, remedy=remedy)

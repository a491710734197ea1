"""The command line of the kubelet, as far as it concerns eviction, and evictd's own flags beside it.

Flags win over the file. Map flags have the kubelet's syntax (`signal<value` and `key=value` lists); the first occurrence of one
clears the map of the file, further ones add to it. All faults are collected and reported with those of the file.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evictd.codec.strict import Duration
from evictd.core.config import Policy
from evictd.core.duration import parse_duration
from evictd.core.problem import Problem, quoted
from evictd.errors import InvalidValueError

KUBELET, EVICTD, CLUSTER, CONTAINER_GC, LOAD = "kubelet", "evictd", "cluster", "container_gc", "load"


@dataclass(frozen=True, slots=True, kw_only=True)
class Flags:
    """What the command line sets, by attribute of the type it belongs to, and what is wrong with it."""

    kubelet: Mapping[str, object] = field(default_factory=dict)
    """Attributes of `KubeletConfiguration`."""
    evictd: Mapping[str, object] = field(default_factory=dict)
    """Attributes of `EvictdConfiguration`."""
    cluster: Mapping[str, object] = field(default_factory=dict)
    container_gc: Mapping[str, object] = field(default_factory=dict)
    """Attributes of `ContainerGCPolicy`."""
    config_dir: Path | None = None
    ignore_allocatable: bool = False
    """`--experimental-allocatable-ignore-eviction`."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """The flag by the attribute that it sets."""
    problems: tuple[Problem, ...] = ()


NO_FLAGS = Flags()


# --- one value --------------------------------------------------------------------------------------------------------


def parse_pairs(texts: Sequence[str], separator: str) -> dict[str, str]:
    """Read `a<1,b<2` (or with `=`), given any number of times; raises `InvalidValueError` with the kubelet's words."""
    pairs = {}
    for element in ",".join(texts).split(","):
        if not element:
            continue
        key, found, value = element.partition(separator)
        if not found:
            raise InvalidValueError(f"malformed pair, expect string{separator}string")
        pairs[key.strip()] = value.strip()
    return pairs


def _thresholds(texts: Sequence[str]) -> dict[str, str]:
    return parse_pairs(texts, "<")


def _pairs(texts: Sequence[str]) -> dict[str, str]:
    return parse_pairs(texts, "=")


def _list(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(one for one in ",".join(texts).split(",") if one)


def _text(texts: Sequence[str]) -> str:
    return texts[-1]


def _path(texts: Sequence[str]) -> Path:
    return Path(texts[-1])


def _duration(texts: Sequence[str]) -> Duration:
    return Duration(parse_duration(texts[-1]))


def _int32(texts: Sequence[str]) -> int:
    text = texts[-1]
    digits = text.removeprefix("-").removeprefix("+")
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 10:
        raise InvalidValueError("is no whole number")
    if not -(2**31) <= int(text) < 2**31:
        raise InvalidValueError("value out of range")
    return int(text)


_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})


def _bool(texts: Sequence[str]) -> bool:
    if texts[-1] in _TRUE:
        return True
    if texts[-1] in _FALSE:
        return False
    raise InvalidValueError("is neither true nor false")


def _policy(texts: Sequence[str]) -> Policy:
    try:
        return Policy(texts[-1])
    except ValueError as error:
        raise InvalidValueError("is no decision policy") from error


# --- all flags --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Flag:
    """One flag: the part of the settings and the attribute that it sets, how it is read, and what it is for."""

    name: str
    part: str
    attribute: str
    read: Callable[[Sequence[str]], object]
    form: str
    about: str


_SIGNALS, _GRACES, _AMOUNTS = "SIGNAL<VALUE,...", "SIGNAL=DURATION,...", "SIGNAL=AMOUNT,..."
_D, _N, _B, _P = "DURATION", "N", "true|false", "PATH"

FLAGS: tuple[_Flag, ...] = (
    _Flag("config-dir", LOAD, "config_dir", _path, _P, "drop-in files (*.conf) merged over the file"),
    _Flag("dry-run", EVICTD, "dry_run", _bool, _B, "decide and report, but touch nothing"),
    _Flag("decision-policy", EVICTD, "decision_policy", _policy, "Standard|Kubelet", "which way to decide"),
    _Flag(
        "housekeeping-interval", EVICTD, "housekeeping_interval", _duration, _D, "time between two looks at a calm node"
    ),
    _Flag("state-directory", EVICTD, "state_directory", _text, _P, "where state and journal are kept"),
    _Flag("listen-address", EVICTD, "listen_address", _text, "HOST:PORT", "loopback address of metrics and status"),
    _Flag("root-dir", EVICTD, "root_dir", _text, _P, "where the kubelet keeps pods and volumes"),
    _Flag("kubeconfig", CLUSTER, "kubeconfig", _text, _P, "how to reach the API server"),
    _Flag("node-name", CLUSTER, "node_name", _text, "NAME", "the Node object's name"),
    _Flag("eviction-hard", KUBELET, "eviction_hard", _thresholds, _SIGNALS, "hard thresholds"),
    _Flag("eviction-soft", KUBELET, "eviction_soft", _thresholds, _SIGNALS, "soft thresholds"),
    _Flag(
        "eviction-soft-grace-period", KUBELET, "eviction_soft_grace_period", _pairs, _GRACES, "grace of soft thresholds"
    ),
    _Flag(
        "eviction-minimum-reclaim",
        KUBELET,
        "eviction_minimum_reclaim",
        _pairs,
        _AMOUNTS,
        "what to free beyond a threshold",
    ),
    _Flag(
        "eviction-max-pod-grace-period",
        KUBELET,
        "eviction_max_pod_grace_period",
        _int32,
        _N,
        "seconds a pod gets at most",
    ),
    _Flag(
        "eviction-pressure-transition-period",
        KUBELET,
        "eviction_pressure_transition_period",
        _duration,
        _D,
        "how long a condition stays after the pressure",
    ),
    _Flag(
        "image-gc-high-threshold", KUBELET, "image_gc_high_threshold_percent", _int32, "PERCENT", "collect images above"
    ),
    _Flag(
        "image-gc-low-threshold", KUBELET, "image_gc_low_threshold_percent", _int32, "PERCENT", "collect images down to"
    ),
    _Flag(
        "minimum-image-ttl-duration", KUBELET, "image_minimum_gc_age", _duration, _D, "age before an image is collected"
    ),
    _Flag("maximum-dead-containers", CONTAINER_GC, "max_containers", _int32, _N, "dead containers kept on the node"),
    _Flag(
        "maximum-dead-containers-per-container",
        CONTAINER_GC,
        "max_per_pod_container",
        _int32,
        _N,
        "dead instances kept of each container",
    ),
    _Flag(
        "minimum-container-ttl-duration",
        CONTAINER_GC,
        "min_age",
        _duration,
        _D,
        "age before a dead container is collected",
    ),
    _Flag(
        "container-runtime-endpoint", KUBELET, "container_runtime_endpoint", _text, "unix://...", "the runtime's socket"
    ),
    _Flag(
        "image-service-endpoint", KUBELET, "image_service_endpoint", _text, "unix://...", "the image service's socket"
    ),
    _Flag("runtime-request-timeout", KUBELET, "runtime_request_timeout", _duration, _D, "longest call to the runtime"),
    _Flag(
        "volume-stats-agg-period",
        KUBELET,
        "volume_stats_agg_period",
        _duration,
        _D,
        "time between measurements of volumes",
    ),
    _Flag(
        "kernel-memcg-notification", KUBELET, "kernel_memcg_notification", _bool, _B, "be woken by memory thresholds"
    ),
    _Flag(
        "local-storage-capacity-isolation",
        KUBELET,
        "local_storage_capacity_isolation",
        _bool,
        _B,
        "enforce storage limits",
    ),
    _Flag("cgroups-per-qos", KUBELET, "cgroups_per_qos", _bool, _B, "pods stand in cgroups by QoS class"),
    _Flag("cgroup-root", KUBELET, "cgroup_root", _text, _P, "the cgroup above kubepods"),
    _Flag("cgroup-driver", KUBELET, "cgroup_driver", _text, "cgroupfs|systemd", "where the runtime does not say"),
    _Flag("enforce-node-allocatable", KUBELET, "enforce_node_allocatable", _list, "KEY,...", "pods, or none"),
    _Flag("system-reserved", KUBELET, "system_reserved", _pairs, "RESOURCE=AMOUNT,...", "kept for the system"),
    _Flag("kube-reserved", KUBELET, "kube_reserved", _pairs, "RESOURCE=AMOUNT,...", "kept for Kubernetes"),
    _Flag("max-pods", KUBELET, "max_pods", _int32, _N, "pods the node takes"),
    _Flag("pods-per-core", KUBELET, "pods_per_core", _int32, _N, "pods a core takes"),
    _Flag("pod-max-pids", KUBELET, "pod_pids_limit", _int32, _N, "PIDs a pod may have"),
    _Flag(
        "node-status-update-frequency",
        KUBELET,
        "node_status_update_frequency",
        _duration,
        _D,
        "how often conditions are made",
    ),
    _Flag(
        "experimental-allocatable-ignore-eviction",
        LOAD,
        "ignore_allocatable",
        _bool,
        _B,
        "no allocatable memory threshold",
    ),
)

BOOLEANS = frozenset(f"--{flag.name}" for flag in FLAGS if flag.read is _bool)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add `--config` and every flag; values stay texts until `from_args`, so that all faults are found at once."""
    group = parser.add_argument_group("configuration", "these win over the file; the kubelet's own names and syntax")
    group.add_argument("--config", metavar=_P, help="the configuration file, of one or two documents")
    for flag in FLAGS:
        group.add_argument(
            f"--{flag.name}", dest=_destination(flag), action="append", metavar=flag.form, help=flag.about
        )


def explicit_booleans(arguments: Sequence[str]) -> list[str]:
    """Write `--dry-run` as `--dry-run=true`: as in the kubelet, a boolean flag takes a value only after `=`."""
    end = list(arguments).index("--") if "--" in arguments else len(arguments)
    head = [f"{one}=true" if one in BOOLEANS else one for one in arguments[:end]]
    return [*head, *arguments[end:]]


def from_args(args: argparse.Namespace) -> Flags:
    """Read the flags out of what argparse found."""
    parts: dict[str, dict[str, object]] = {KUBELET: {}, EVICTD: {}, CLUSTER: {}, CONTAINER_GC: {}, LOAD: {}}
    sources, problems = {}, []
    for flag in FLAGS:
        texts = getattr(args, _destination(flag), None)
        if not texts:
            continue
        try:
            parts[flag.part][flag.attribute] = flag.read(texts)
        except InvalidValueError as error:
            wrong, remedy = str(error), f"give {flag.form}"
            problems.append(Problem(path=f"--{flag.name}", value=quoted(",".join(texts)), wrong=wrong, remedy=remedy))
        else:
            sources[flag.attribute] = f"--{flag.name}"
    load = parts[LOAD]
    config_dir = load.get("config_dir")
    return Flags(
        kubelet=parts[KUBELET],
        evictd=parts[EVICTD],
        cluster=parts[CLUSTER],
        container_gc=parts[CONTAINER_GC],
        config_dir=config_dir if isinstance(config_dir, Path) else None,
        ignore_allocatable=load.get("ignore_allocatable") is True,
        sources=sources,
        problems=tuple(problems),
    )


def _destination(flag: _Flag) -> str:
    return "flag_" + flag.name.replace("-", "_")

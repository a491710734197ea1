"""Declares and parses the command-line flags: the kubelet's that concern eviction, and evictd's own.

Flags override the file. Map flags have the kubelet's syntax (`signal<value` and `key=value` lists); the first occurrence of a
flag replaces the file's map, further ones add to it. All faults are collected and reported with those of the file.
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from evictd.codec.config.kubelet_fields import KubeletConfiguration
from evictd.codec.strict import Duration
from evictd.core.frozen import frozen
from evictd.core.model.config import ContainerGCPolicy, Policy
from evictd.core.model.problem import ConfigProblem, quoted
from evictd.core.units.duration import duration_remedy, format_duration, parse_duration
from evictd.errors import InvalidValueError

KUBELET, EVICTD, CLUSTER, CONTAINER_GC, LOAD = "kubelet", "evictd", "cluster", "container_gc", "load"


@frozen
class Flags:
    """Values set on the command line, by attribute of the type they belong to, and the faults found."""

    kubelet: Mapping[str, object] = field(default_factory=dict)
    """Attributes of `KubeletConfiguration`."""
    evictd: Mapping[str, object] = field(default_factory=dict)
    """Attributes of `EvictdConfiguration`."""
    cluster: Mapping[str, object] = field(default_factory=dict)
    container_gc: Mapping[str, Any] = field(default_factory=dict)
    """Attributes of `ContainerGCPolicy`."""
    config_dir: Path | None = None
    ignore_allocatable: bool = False
    """`--experimental-allocatable-ignore-eviction`."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """The flag by the attribute that it sets."""
    problems: tuple[ConfigProblem, ...] = ()


NO_FLAGS = Flags()


# --- one value --------------------------------------------------------------------------------------------------------


def parse_pairs(texts: Sequence[str], separator: str) -> dict[str, str]:
    """Read `a<1,b<2` (or with `=`), given any number of times; raises `InvalidValueError` with the kubelet's text."""
    pairs = {}
    for element in ",".join(texts).split(","):
        if not element:
            continue
        key, found, value = element.partition(separator)
        if not found:
            raise InvalidValueError(f"malformed pair, expect string{separator}string")
        pairs[key.strip()] = value.strip()
    return pairs


_thresholds, _pairs = partial(parse_pairs, separator="<"), partial(parse_pairs, separator="=")


def _list(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(one for one in ",".join(texts).split(",") if one)


def _text(texts: Sequence[str]) -> str:
    return texts[-1]


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


class _Kind(NamedTuple):
    """Parser of a flag's texts, and the placeholder of its value in the help."""

    read: Callable[[Sequence[str]], object]
    form: str


_PATH = _Kind(lambda texts: Path(texts[-1]), "PATH")
_BOOL = _Kind(_bool, "true|false")
_POLICY = _Kind(_policy, "Standard|Kubelet")
_DURATION = _Kind(_duration, "DURATION")
_PATH_TEXT = _Kind(_text, "PATH")
_ADDRESS = _Kind(_text, "HOST:PORT")
_NAME = _Kind(_text, "NAME")
_THRESHOLDS = _Kind(_thresholds, "SIGNAL<VALUE,...")
_GRACES = _Kind(_pairs, "SIGNAL=DURATION,...")
_AMOUNTS = _Kind(_pairs, "SIGNAL=AMOUNT,...")
_COUNT = _Kind(_int32, "N")
_PERCENT = _Kind(_int32, "PERCENT")
_SOCKET = _Kind(_text, "unix://...")
_DRIVER = _Kind(_text, "cgroupfs|systemd")
_KEYS = _Kind(_list, "KEY,...")
_RESERVED = _Kind(_pairs, "RESOURCE=AMOUNT,...")


class _Flag(NamedTuple):
    """One flag: the part of the settings that it sets, its kind, and its help text."""

    name: str
    part: str
    kind: _Kind
    about: str
    named: str = ""

    @property
    def attribute(self) -> str:
        """Attribute that the flag sets: `named`, or the flag's own name."""
        return self.named or self.name.replace("-", "_")


FLAGS: tuple[_Flag, ...] = (
    _Flag("config-dir", LOAD, _PATH, "drop-in files (*.conf) merged over the file"),
    _Flag("dry-run", EVICTD, _BOOL, "decide and report, but change nothing"),
    _Flag("decision-policy", EVICTD, _POLICY, "follow the documentation or the kubelet's code"),
    _Flag("housekeeping-interval", EVICTD, _DURATION, "time between two cycles without pressure"),
    _Flag("state-directory", EVICTD, _PATH, "directory of state and journal"),
    _Flag("listen-address", EVICTD, _ADDRESS, "loopback address for metrics and status"),
    _Flag("root-dir", EVICTD, _PATH, "directory of the kubelet's pods and volumes"),
    _Flag("kubeconfig", CLUSTER, _PATH_TEXT, "kubeconfig, or in-cluster"),
    _Flag("node-name", CLUSTER, _NAME, "name of the Node object"),
    _Flag("eviction-hard", KUBELET, _THRESHOLDS, "hard thresholds"),
    _Flag("eviction-soft", KUBELET, _THRESHOLDS, "soft thresholds"),
    _Flag("eviction-soft-grace-period", KUBELET, _GRACES, "grace periods of soft thresholds"),
    _Flag("eviction-minimum-reclaim", KUBELET, _AMOUNTS, "amounts to free beyond a threshold"),
    _Flag("eviction-max-pod-grace-period", KUBELET, _COUNT, "longest grace of a pod, in seconds"),
    _Flag("eviction-pressure-transition-period", KUBELET, _DURATION, "time that a condition stays after pressure"),
    _Flag(
        "image-gc-high-threshold",
        KUBELET,
        _PERCENT,
        "disk usage that starts image collection",
        "image_gc_high_threshold_percent",
    ),
    _Flag(
        "image-gc-low-threshold",
        KUBELET,
        _PERCENT,
        "disk usage that ends image collection",
        "image_gc_low_threshold_percent",
    ),
    _Flag("minimum-image-ttl-duration", KUBELET, _DURATION, "age before an image is collected", "image_minimum_gc_age"),
    _Flag("maximum-dead-containers", CONTAINER_GC, _COUNT, "dead containers kept on the node", "max_containers"),
    _Flag(
        "maximum-dead-containers-per-container",
        CONTAINER_GC,
        _COUNT,
        "dead instances kept of each container",
        "max_per_pod_container",
    ),
    _Flag(
        "minimum-container-ttl-duration", CONTAINER_GC, _DURATION, "age before a dead container is collected", "min_age"
    ),
    _Flag("container-runtime-endpoint", KUBELET, _SOCKET, "the runtime's socket"),
    _Flag("image-service-endpoint", KUBELET, _SOCKET, "the image service's socket"),
    _Flag("runtime-request-timeout", KUBELET, _DURATION, "longest call to the runtime"),
    _Flag("volume-stats-agg-period", KUBELET, _DURATION, "no effect on evictd"),
    _Flag("kernel-memcg-notification", KUBELET, _BOOL, "start a cycle when a memory threshold is crossed"),
    _Flag("local-storage-capacity-isolation", KUBELET, _BOOL, "enforce storage limits"),
    _Flag("cgroups-per-qos", KUBELET, _BOOL, "no effect on evictd"),
    _Flag("cgroup-root", KUBELET, _PATH_TEXT, "the cgroup that holds kubepods"),
    _Flag("cgroup-driver", KUBELET, _DRIVER, "no effect on evictd"),
    _Flag("enforce-node-allocatable", KUBELET, _KEYS, "pods, or none"),
    _Flag("system-reserved", KUBELET, _RESERVED, "reserved for system daemons"),
    _Flag("kube-reserved", KUBELET, _RESERVED, "reserved for Kubernetes daemons"),
    _Flag("max-pods", KUBELET, _COUNT, "no effect on evictd"),
    _Flag("pods-per-core", KUBELET, _COUNT, "no effect on evictd"),
    _Flag("pod-max-pids", KUBELET, _COUNT, "no effect on evictd", "pod_pids_limit"),
    _Flag("node-status-update-frequency", KUBELET, _DURATION, "how often conditions are computed"),
    _Flag(
        "experimental-allocatable-ignore-eviction", LOAD, _BOOL, "no allocatable memory threshold", "ignore_allocatable"
    ),
)

BOOLEANS = frozenset(f"--{flag.name}" for flag in FLAGS if flag.kind is _BOOL)


CONFIGURATION_GROUP, KUBELET_GROUP = "configuration", "kubelet flags"
"""Titles of the two groups of flags. The help of a command leaves out the second, which `--help-kubelet-flags` shows."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add `--config` and every flag; values stay texts until `from_args`, so that all faults are reported together."""
    own = parser.add_argument_group(CONFIGURATION_GROUP, "these override the file")
    own.add_argument("--config", metavar="PATH", help="the configuration file, of one or two documents")
    kubelet = parser.add_argument_group(KUBELET_GROUP, "these override the file; names and syntax are the kubelet's")
    for flag in FLAGS:
        group = own if _is_own(flag) else kubelet
        group.add_argument(
            f"--{flag.name}", dest=_destination(flag), action="append", metavar=flag.kind.form, help=flag.about
        )
    own.add_argument(
        "--help-kubelet-flags", action=_HelpKubeletFlags, help="show the kubelet's flags, such as those of thresholds"
    )


class _HelpKubeletFlags(argparse.Action):
    """Prints the group of the kubelet's flags, each with its default, and ends the program."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str | None = None) -> None:  # noqa: A002 - argparse's name
        super().__init__(option_strings, dest, nargs=0, default=argparse.SUPPRESS, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        width = max(len(_usage(flag)) for flag in FLAGS) + 2
        lines = [
            f"  {_usage(flag):<{width}}{flag.about} (default: {_default(flag)})" for flag in FLAGS if not _is_own(flag)
        ]
        title = f"{KUBELET_GROUP}: these override the file; names and syntax are the kubelet's"
        sys.stdout.write("\n".join([title, *lines]) + "\n")
        parser.exit()


def _usage(flag: _Flag) -> str:
    """Write a flag with its value; a boolean one takes none after a space."""
    return f"--{flag.name}{'=' if flag.kind is _BOOL else ' '}{flag.kind.form}"


def _is_own(flag: _Flag) -> bool:
    return flag.part in {EVICTD, CLUSTER} or flag.name == "config-dir"


def _default(flag: _Flag) -> str:
    """Write the value that counts where neither the file nor the flag gives one."""
    sources = {CONTAINER_GC: ContainerGCPolicy(), LOAD: NO_FLAGS}
    value = getattr(sources.get(flag.part, KubeletConfiguration()), flag.attribute)
    if flag.kind is _DURATION:
        return format_duration(int(value))
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple | list | Mapping):
        return ",".join(map(str, value)) or "none"
    return "none" if value in {None, ""} else str(value)


def explicit_booleans(arguments: Sequence[str]) -> list[str]:
    """Write `--dry-run` as `--dry-run=true`: as in the kubelet, a boolean flag takes a value only after `=`."""
    end = list(arguments).index("--") if "--" in arguments else len(arguments)
    head = [f"{one}=true" if one in BOOLEANS else one for one in arguments[:end]]
    return [*head, *arguments[end:]]


def from_args(args: argparse.Namespace) -> Flags:
    """Parse the flags from argparse's namespace."""
    parts: dict[str, Any] = {KUBELET: {}, EVICTD: {}, CLUSTER: {}, CONTAINER_GC: {}, LOAD: {}}
    sources, problems = {}, []
    for flag in FLAGS:
        texts = getattr(args, _destination(flag), None)
        if not texts:
            continue
        try:
            parts[flag.part][flag.attribute] = flag.kind.read(texts)
        except InvalidValueError as error:
            value, wrong = quoted(",".join(texts)), str(error)
            remedy = duration_remedy(texts[-1]) if flag.kind is _DURATION else f"give {flag.kind.form}"
            problems.append(ConfigProblem(path=f"--{flag.name}", value=value, wrong=wrong, remedy=remedy))
        else:
            sources[flag.attribute] = f"--{flag.name}"
    load = parts.pop(LOAD)
    return Flags(**parts, **load, sources=sources, problems=tuple(problems))


def as_arguments(args: argparse.Namespace) -> list[str]:
    """Write `--config`, as an absolute path, and the flags that were given, so that another command can be given them too."""
    config = [] if args.config is None else [f"--config={Path(args.config).absolute()}"]
    given = ((flag, text) for flag in FLAGS for text in getattr(args, _destination(flag), None) or ())
    return [*config, *(f"--{flag.name}={text}" for flag, text in given)]


def _destination(flag: _Flag) -> str:
    return "flag_" + flag.name.replace("-", "_")

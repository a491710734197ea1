"""Decodes `KubeletConfiguration` and builds the core's `EvictionConfig` from it.

Reads the fields strictly, applies the two kinds of defaults (a zero in a file means 'not set', an absent `evictionHard` means the
default thresholds) and parses the thresholds. All faults are reported together. `kubelet_validation` has the kubelet's other
checks.
"""

from collections.abc import Collection, Iterator, Mapping

import msgspec

from evictd.codec.config.fields import with_documents
from evictd.codec.config.kubelet_fields import IGNORED_FIELDS, ZERO_MEANS_DEFAULT, KubeletConfiguration
from evictd.codec.strict import decode
from evictd.core.model.config import EvictionConfig, Policy
from evictd.core.model.problem import ConfigProblem
from evictd.core.model.threshold import Origin
from evictd.core.model.threshold_config import (
    DEFAULT_EVICTION_HARD,
    NODE_ALLOCATABLE_ENFORCEMENT_KEY,
    ThresholdMaps,
    parse_threshold_config,
)
from evictd.core.units.duration import MINUTE
from evictd.errors import InputError


def eviction_config(fields: Mapping[str, object], *, policy: Policy) -> EvictionConfig:
    """Read effective KubeletConfiguration fields, by their names in YAML.

    A zero stays zero here, as in a scenario; only in a file it means 'not set' (`with_file_defaults`). Without
    `evictionHard` the kubelet's defaults apply. Raises `InputError` with every problem.
    """
    config, problems = decode_kubelet(fields)
    hard, origins = default_eviction_hard(fields)
    config = msgspec.structs.replace(config, eviction_hard=_texts(hard))
    eviction, more = build_eviction_config(config, policy=policy, hard_origins=origins, read_faults=problems)
    if problems := [*problems, *more]:
        raise InputError(tuple(str(problem) for problem in problems))
    return eviction


def decode_kubelet(fields: Mapping[str, object]) -> tuple[KubeletConfiguration, list[ConfigProblem]]:
    """Read the fields strictly: unknown fields and wrong types are problems, absent fields take their defaults."""
    known = {name: value for name, value in fields.items() if name not in {"apiVersion", "kind"}}
    return decode(KubeletConfiguration, known, ignored=IGNORED_FIELDS)


def default_eviction_hard(fields: Mapping[str, object]) -> tuple[Mapping[str, object], dict[str, Origin]]:
    """Return the main file's `evictionHard` with the kubelet's defaults, and the origin of each added entry.

    The defaults apply if the map is absent, and are merged into it if `mergeDefaultEvictionSettings` is true. Otherwise a map
    that is present, even an empty one, is not changed.
    """
    given = fields.get("evictionHard")
    if given is None:
        return DEFAULT_EVICTION_HARD, dict.fromkeys(DEFAULT_EVICTION_HARD, Origin.DEFAULT)
    if not isinstance(given, Mapping) or fields.get("mergeDefaultEvictionSettings") is not True:
        return given if isinstance(given, Mapping) else {}, {}
    added = {signal: value for signal, value in DEFAULT_EVICTION_HARD.items() if signal not in given}
    return {**given, **added}, dict.fromkeys(added, Origin.MERGED)


def with_file_defaults(config: KubeletConfiguration) -> KubeletConfiguration:
    """Replace zeros by defaults, as the kubelet does, which cannot distinguish zero from absent."""
    default = KubeletConfiguration()
    zero = {name: getattr(default, name) for name in ZERO_MEANS_DEFAULT if not getattr(config, name)}
    if config.pod_pids_limit < 0:
        zero["pod_pids_limit"] = -1
    return msgspec.structs.replace(config, **zero)


def report_frequency(config: KubeletConfiguration, *, update_was_set: bool) -> int:
    """Return `nodeStatusReportFrequency` in nanoseconds: 5m, or the update frequency if only that was set."""
    if config.node_status_report_frequency:
        return config.node_status_report_frequency
    return int(config.node_status_update_frequency) if update_was_set else 5 * MINUTE


def build_eviction_config(
    config: KubeletConfiguration,
    *,
    policy: Policy,
    hard_origins: Mapping[str, Origin],
    ignore_allocatable: bool = False,
    read_faults: Collection[ConfigProblem],
) -> tuple[EvictionConfig, list[ConfigProblem]]:
    """Build the core's configuration, and list the faults of the eviction maps.

    `ignore_allocatable` is `--experimental-allocatable-ignore-eviction`: no threshold on allocatableMemory.available is added.
    What one of `read_faults` is about is not reported as missing as well.
    """
    hidden = {NODE_ALLOCATABLE_ENFORCEMENT_KEY} if ignore_allocatable else set()
    maps = ThresholdMaps(
        hard=config.eviction_hard or {},
        soft=config.eviction_soft,
        soft_grace_period=config.eviction_soft_grace_period,
        minimum_reclaim=config.eviction_minimum_reclaim,
        hard_origins=hard_origins,
        unread=[problem.path for problem in read_faults],
    )
    enforced = [key for key in config.enforce_node_allocatable if key not in hidden]
    thresholds, problems = parse_threshold_config(maps, enforce_node_allocatable=enforced)
    return with_documents(EvictionConfig(thresholds=thresholds, policy=policy), config), list(problems)


def containerfs_warnings(config: KubeletConfiguration) -> Iterator[str]:
    """Warn of the user's containerfs thresholds, which are replaced by those of nodefs or imagefs."""
    for kind, signals in (("hard", config.eviction_hard or {}), ("soft", config.eviction_soft)):
        for signal in signals:
            if signal.startswith("containerfs."):
                yield f"found {signal} for {kind} eviction. ignoring: it follows nodefs or imagefs"


def _texts(values: Mapping[str, object]) -> dict[str, str]:
    return {signal: value for signal, value in values.items() if isinstance(value, str)}

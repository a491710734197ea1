"""What a `KubeletConfiguration` asks of the eviction manager.

From fields by their YAML names to what the core obeys: strict reading, the two kinds of defaults (a zero in a file means
'not set', an absent `evictionHard` means the default thresholds), and the thresholds. Everything wrong is said at once.
What else the kubelet would refuse stands in `kubelet_validation`.
"""

from collections.abc import Iterator, Mapping

import msgspec

from evictd.codec.kubelet_fields import IGNORED_FIELDS, ZERO_MEANS_DEFAULT, KubeletConfiguration
from evictd.codec.strict import decode
from evictd.core.config import EvictionConfig, ImageGCPolicy, Policy
from evictd.core.duration import MINUTE
from evictd.core.problem import Problem
from evictd.core.threshold import Origin
from evictd.core.threshold_config import (
    DEFAULT_EVICTION_HARD,
    NODE_ALLOCATABLE_ENFORCEMENT_KEY,
    ThresholdMaps,
    parse_threshold_config,
)
from evictd.errors import InputError


def eviction_config(fields: Mapping[str, object], *, policy: Policy, default_hard: bool) -> EvictionConfig:
    """Read effective KubeletConfiguration fields, by their names in YAML.

    A zero is a zero here, as in a scenario; only a file's zero means 'not set' (`with_file_defaults`). Without
    `evictionHard` the kubelet's defaults apply if `default_hard`. Raises `InputError` with every problem.
    """
    config, problems = decode_kubelet(fields)
    hard, origins = default_eviction_hard(fields) if default_hard else (config.eviction_hard, {})
    if hard is not None:
        config = msgspec.structs.replace(config, eviction_hard=_texts(hard))
    eviction, more = build_eviction_config(config, policy=policy, hard_origins=origins)
    if problems := [*problems, *more]:
        raise InputError(tuple(str(problem) for problem in problems))
    return eviction


def decode_kubelet(fields: Mapping[str, object]) -> tuple[KubeletConfiguration, list[Problem]]:
    """Read the fields strictly; unknown ones and wrong types are problems, absent ones take their defaults."""
    known = {name: value for name, value in fields.items() if name not in {"apiVersion", "kind"}}
    return decode(KubeletConfiguration, known, ignored=IGNORED_FIELDS)


def default_eviction_hard(fields: Mapping[str, object]) -> tuple[Mapping[str, object], dict[str, Origin]]:
    """Give the hard map of a main file with the kubelet's defaults, and where its entries came from.

    The defaults apply where the map is absent, or are merged into it where `mergeDefaultEvictionSettings` says so; a map
    that is there, even an empty one, stands as it is otherwise.
    """
    given = fields.get("evictionHard")
    if given is None:
        return DEFAULT_EVICTION_HARD, dict.fromkeys(DEFAULT_EVICTION_HARD, Origin.DEFAULT)
    if not isinstance(given, Mapping) or fields.get("mergeDefaultEvictionSettings") is not True:
        return given if isinstance(given, Mapping) else {}, {}
    added = {signal: value for signal, value in DEFAULT_EVICTION_HARD.items() if signal not in given}
    return {**given, **added}, dict.fromkeys(added, Origin.MERGED)


def with_file_defaults(config: KubeletConfiguration) -> KubeletConfiguration:
    """Put the default where a file said zero, as the kubelet's defaulting does (it cannot tell zero from absent)."""
    default = KubeletConfiguration()
    zero = {name: getattr(default, name) for name in ZERO_MEANS_DEFAULT if not getattr(config, name)}
    if config.pod_pids_limit < 0:
        zero["pod_pids_limit"] = -1
    return msgspec.structs.replace(config, **zero)


def report_frequency(config: KubeletConfiguration, *, update_was_set: bool) -> int:
    """Give `nodeStatusReportFrequency` in nanoseconds: 5m, or the update frequency where only that was set."""
    if config.node_status_report_frequency:
        return config.node_status_report_frequency
    return int(config.node_status_update_frequency) if update_was_set else 5 * MINUTE


def build_eviction_config(
    config: KubeletConfiguration,
    *,
    policy: Policy = Policy.STANDARD,
    hard_origins: Mapping[str, Origin] | None = None,
    ignore_allocatable: bool = False,
) -> tuple[EvictionConfig, list[Problem]]:
    """Make what the core obeys, and list what is wrong with the eviction maps.

    `ignore_allocatable` is `--experimental-allocatable-ignore-eviction`: it hides `pods` from the thresholds.
    """
    hidden = {NODE_ALLOCATABLE_ENFORCEMENT_KEY} if ignore_allocatable else set()
    maps = ThresholdMaps(
        hard=config.eviction_hard or {},
        soft=config.eviction_soft,
        soft_grace_period=config.eviction_soft_grace_period,
        minimum_reclaim=config.eviction_minimum_reclaim,
        hard_origins=hard_origins or {},
    )
    enforced = [key for key in config.enforce_node_allocatable if key not in hidden]
    thresholds, problems = parse_threshold_config(maps, enforce_node_allocatable=enforced)
    eviction = EvictionConfig(
        thresholds=thresholds,
        max_pod_grace_period_seconds=config.eviction_max_pod_grace_period,
        pressure_transition_period=int(config.eviction_pressure_transition_period),
        local_storage_capacity_isolation=config.local_storage_capacity_isolation,
        policy=policy,
        image_gc=ImageGCPolicy(
            high_threshold_percent=config.image_gc_high_threshold_percent,
            low_threshold_percent=config.image_gc_low_threshold_percent,
            min_age=int(config.image_minimum_gc_age),
            max_age=int(config.image_maximum_gc_age),
        ),
    )
    return eviction, list(problems)


def containerfs_warnings(config: KubeletConfiguration) -> Iterator[str]:
    """Say which thresholds of the user are not used, because those of containerfs follow nodefs or imagefs."""
    for kind, signals in (("hard", config.eviction_hard or {}), ("soft", config.eviction_soft)):
        for signal in signals:
            if signal.startswith("containerfs."):
                yield f"found {signal} for {kind} eviction. ignoring: it follows nodefs or imagefs"


def _texts(values: Mapping[str, object]) -> dict[str, str]:
    return {signal: value for signal, value in values.items() if isinstance(value, str)}

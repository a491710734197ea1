"""Builds `Settings` from the merged documents and the flags, in the kubelet's order.

First the defaults of fields that are zero in the files, then the flags, then validation. All faults of all sources are reported
together, each with the file or flag it came from.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from evictd.codec.config.evictd_config import EvictdConfiguration, decode_evictd, validate_evictd
from evictd.codec.config.fields import with_documents
from evictd.codec.config.kubelet_config import (
    build_eviction_config,
    containerfs_warnings,
    decode_kubelet,
    report_frequency,
    with_file_defaults,
)
from evictd.codec.config.kubelet_fields import WITHOUT_EFFECT, KubeletConfiguration
from evictd.codec.config.kubelet_validation import validate
from evictd.codec.config.kubelet_versions import KubernetesVersion, defaults_of
from evictd.codec.config.pressure_fields import stall_thresholds, swap_thresholds
from evictd.codec.strict import unknown, unwrap
from evictd.config.flags import Flags
from evictd.config.layers import Layers
from evictd.config.lines import field_lines, with_line
from evictd.config.lint import lint
from evictd.config.lint_model import Severity, Surroundings
from evictd.config.settings import MEMORY_POLICIES, Settings, UnknownField
from evictd.core.model.config import EvictionConfig, FastFill, Policy, Preferences
from evictd.core.model.problem import ConfigProblem, quoted, shown
from evictd.core.model.signal import SIGNALS, Signal
from evictd.core.model.threshold import Origin
from evictd.core.model.threshold_config import HARD, SOFT
from evictd.core.units.duration import HOUR, MINUTE, format_duration
from evictd.errors import InputError, most_similar

_DAY = 24 * HOUR

_MISSPELT = 0.85
"""Similarity (`difflib`) from which an unknown field is taken for a misspelt one."""


def settings(layers: Layers, flags: Flags) -> Settings:
    """Build the settings; raises `InputError` with every fault."""
    read, kubelet_problems = decode_kubelet(layers.kubelet)
    kubelet = msgspec.structs.replace(with_file_defaults(read), **flags.kubelet)
    from_file, evictd_problems = decode_evictd(layers.evictd)
    cluster = msgspec.structs.replace(from_file.cluster, **flags.cluster)
    evictd = msgspec.structs.replace(from_file, **{**flags.evictd, "cluster": cluster})
    eviction, threshold_problems = build_eviction_config(
        kubelet,
        policy=evictd.decision_policy,
        hard_origins={} if "eviction_hard" in flags.kubelet else layers.hard_origins,
        ignore_allocatable=flags.ignore_allocatable,
        read_faults=kubelet_problems,
    )
    newer = [problem for problem in kubelet_problems if is_unknown_to_us(problem)]
    kubelet_problems = [problem for problem in kubelet_problems if problem not in newer]
    gate = evictd.kubernetes_version is KubernetesVersion.AUTO or defaults_of(evictd.kubernetes_version).memory_qos
    faults = validate(kubelet, memory_qos=gate)
    problems = [*kubelet_problems, *threshold_problems, *faults, *evictd_problems, *validate_evictd(evictd)]
    if problems:
        problems += [*_meant_otherwise(kubelet, eviction), *filter(_is_misspelt, newer)]
    _refuse(problems, layers, flags)
    update_was_set = read.node_status_update_frequency != 0 and "nodeStatusUpdateFrequency" in layers.kubelet
    report = report_frequency(kubelet, update_was_set=update_was_set or "node_status_update_frequency" in flags.kubelet)
    eviction = with_options(eviction, evictd)
    eviction = replace(
        eviction,
        container_gc=replace(eviction.container_gc, **flags.container_gc),
        keep_away=eviction.keep_away and not cluster.standalone,  # without an API server nothing keeps pods away
    )
    return Settings(
        eviction=eviction,
        evictd=evictd,
        kubelet=kubelet,
        node_status_report_frequency=report,
        source=Path(layers.name) if layers.name else None,
        surprises=(
            *_warnings(kubelet, eviction, layers),
            *_pressure_warnings(evictd, eviction),
        ),
        unknown_fields=tuple(
            _unknown_field(source, problem, has_defaults=_has_defaults(layers, flags))
            for source, problem in _located(newer, layers, flags)
        ),
        without_effect=_without_effect(kubelet),
    )


def is_unknown_to_us(problem: ConfigProblem) -> bool:
    """Whether a problem of the kubelet's document is a field that this version does not know: a newer kubelet may.

    It may be misspelt as well, so it is a warning. A field of evictd's own document stays an error: a `dryRun` that stands in the
    wrong document would not count. So does what cannot be a field's name, such as a signal that is not indented.
    """
    is_name = not problem.path.endswith("]")
    return problem.unknown_field and is_name and _KINDS.get(problem.path) != EvictdConfiguration.__name__


def _unknown_field(source: str, problem: ConfigProblem, *, has_defaults: bool) -> UnknownField:
    instead = ", so the default thresholds apply" if problem.meant == HARD and has_defaults else ""
    return UnknownField(
        message=f"{source}: {problem.place}: unknown field of {KubeletConfiguration.__name__}, which has no effect{instead}",
        remedy=problem.remedy if problem.meant else "a newer kubelet may know it",
        misspelt=_is_misspelt(problem),
    )


def _is_misspelt(problem: ConfigProblem) -> bool:
    """Whether an unknown field is spelt almost like a known one."""
    return bool(most_similar(problem.path.rpartition(".")[2], [problem.meant], similarity=_MISSPELT))


def _has_defaults(layers: Layers, flags: Flags) -> bool:
    """Whether every hard threshold is a default."""
    hard = layers.kubelet.get(HARD)
    defaults = isinstance(hard, Mapping) and hard and hard.keys() <= layers.hard_origins.keys()
    return bool(defaults) and "eviction_hard" not in flags.kubelet


def _refuse(problems: Sequence[ConfigProblem], layers: Layers, flags: Flags) -> None:
    found = _located([_placed(problem) for problem in problems], layers, flags)
    lines = [f"{source}: {problem}" for source, problem in found]
    lines = [*layers.problems, *lines, *(str(problem) for problem in flags.problems)]
    if lines:
        raise InputError(tuple(lines))


def _meant_otherwise(kubelet: KubeletConfiguration, eviction: EvictionConfig) -> Iterator[ConfigProblem]:
    """Yield the thresholds beside a fault that `evictd check` would call an error once that fault is mended."""
    for each in eviction.thresholds:
        hard = each.signal.value in (kubelet.eviction_hard or {}) and each.hard
        for found in lint([each], Surroundings()) if each.origin is not Origin.DERIVED else ():
            if found.severity is Severity.ERROR:
                path = f"{HARD if hard else SOFT}[{each.signal.value}]"
                yield ConfigProblem(path=path, wrong=found.message, remedy=found.remedy)


def _located(problems: Sequence[ConfigProblem], layers: Layers, flags: Flags) -> list[tuple[str, ConfigProblem]]:
    """Return each problem with its line, after the file or flag that it came from; those of a file in the order of its lines."""
    if not problems:
        return []
    sources = _sources(layers, flags)
    lines = {name: field_lines(text) for name, text in layers.texts.items()}
    named = [(sources.get(_top(problem.path), layers.name) or "default", problem) for problem in problems]
    found = [(source, with_line(problem, lines.get(source, {}))) for source, problem in named]
    order = list(dict.fromkeys(source for source, _ in found))
    return sorted(found, key=lambda each: (order.index(each[0]), each[1].line or 0))


def _placed(problem: ConfigProblem) -> ConfigProblem:
    """Return where a field belongs that stands in the wrong document, or a signal that stands outside its map."""
    kind = _KINDS.get(problem.path)
    if problem.unknown_field and any(signal.value in problem.path for signal in Signal):
        remedy = f"indent it with spaces, below {HARD} or its like"
        return replace(problem, wrong="is a signal, not a field", remedy=remedy)
    above, dot, below = problem.path.strip("[]").partition(".")
    if problem.unknown_field and dot and above in _FIELDS and below not in _FIELDS[above]:
        remedy = unknown(below, _FIELDS[above], problem.path).remedy
        if above == "ranking":
            remedy += "; no setting excludes a pod, see `Protect a pod` in docs/tuning.md"
        return replace(problem, wrong=f"`{above}` has no field `{below}`", remedy=remedy)
    if problem.unknown_field and dot and above in _KINDS:
        remedy = f"write `{above}: {{{below}: ...}}` in the document of kind {_KINDS[above]}"
        return replace(problem, remedy=remedy)
    if not problem.unknown_field or kind is None:
        return problem
    return replace(problem, wrong=f"is a field of {kind}", remedy=f"move it to the document of kind {kind}")


def _top(path: str) -> str:
    return path.partition(".")[0].partition("[")[0]


def _sources(layers: Layers, flags: Flags) -> dict[str, str]:
    """Map the name of each top-level field to the drop-in or flag that set it."""
    names = {one.name: one.encode_name for cls in _TYPES for one in msgspec.structs.fields(cls)}
    by_flag = {names[attribute]: flag for attribute, flag in flags.sources.items() if attribute in names}
    return {**layers.sources, **by_flag}


_TYPES: tuple[Any, ...] = (KubeletConfiguration, EvictdConfiguration)
_KINDS = {one.encode_name: kind.__name__ for kind in _TYPES for one in msgspec.structs.fields(kind)}
"""The document by the name of each of its fields."""


def with_options(eviction: EvictionConfig, evictd: EvictdConfiguration) -> EvictionConfig:
    """Add what the core obeys beside the kubelet's own fields; `validate_evictd` has found no fault in it."""
    own = (*stall_thresholds(evictd.pressure), *swap_thresholds(evictd.swap))
    made = with_documents(replace(eviction, thresholds=(*eviction.thresholds, *own)), evictd)
    return replace(made, policy=eviction.policy)  # which a command line may name in place of the file


def _without_effect(kubelet: KubeletConfiguration) -> tuple[str, ...]:
    """List the fields that differ from their default but that evictd does not obey, by YAML name."""
    default = KubeletConfiguration()
    names = {field.name: field.encode_name for field in msgspec.structs.fields(KubeletConfiguration)}
    return tuple(names[one] for one in WITHOUT_EFFECT if getattr(kubelet, one) != getattr(default, one))


def _pressure_warnings(evictd: EvictdConfiguration, eviction: EvictionConfig) -> Iterator[str]:
    for name, fields, thresholds, what in (
        ("pressure", evictd.pressure, stall_thresholds(evictd.pressure), "stalls"),
        ("swap", evictd.swap, swap_thresholds(evictd.swap), "swap"),
    ):
        if evictd.decision_policy is Policy.KUBELET:
            if fields:
                yield f"{name} has no effect: policy Kubelet has no thresholds on {what}"
        elif eviction.max_pod_grace_period_seconds == 0 and any(not each.hard for each in thresholds):
            yield (
                f"evictionMaxPodGracePeriod is 0: soft thresholds of {name} leave pods 2 s to end; "
                "set it, such as 60, or hard: true"
            )


def _warnings(kubelet: KubeletConfiguration, eviction: EvictionConfig, layers: Layers) -> Iterator[str]:
    yield from containerfs_warnings(kubelet)
    if kubelet.memory_reservation_policy not in MEMORY_POLICIES:
        known = ", ".join(MEMORY_POLICIES)
        yield f"memoryReservationPolicy {quoted(kubelet.memory_reservation_policy)} counts as None: known are {known}"
    if not layers.name and not any(threshold.hard for threshold in eviction.thresholds):
        none = "hard thresholds" if eviction.thresholds else "thresholds, and no pod is evicted for pressure"
        yield (
            f"no configuration file was given, so there are no {none}; give --config FILE, or --eviction-hard "
            "(--help-kubelet-flags lists it)"
        )
    elif not eviction.thresholds:
        yield "there are no thresholds: evictd never evicts a pod for pressure"
    for signal in sorted(kubelet.eviction_soft_grace_period.keys() - kubelet.eviction_soft.keys()):
        yield f"evictionSoftGracePeriod.{shown(signal)} has no effect: evictionSoft has no threshold for it"
    followed = {each.signal.value for each in eviction.thresholds}
    for signal in sorted(kubelet.eviction_minimum_reclaim.keys() - followed):
        yield f"evictionMinimumReclaim.{shown(signal)} has no effect: there is no threshold for it"
    soft = (each for each in eviction.thresholds if not each.hard and not SIGNALS[each.signal].own)
    if eviction.max_pod_grace_period_seconds == 0 and any(soft):
        yield "evictionMaxPodGracePeriod is 0: soft thresholds leave pods 2 s to end; set it, such as 60"
    yield from _without_number(eviction)
    yield from _long_graces(eviction)
    period = format_duration(eviction.pressure_transition_period)
    if eviction.pressure_transition_period <= 0:
        yield f"evictionPressureTransitionPeriod is {period}: no node condition is ever reported"
    elif eviction.pressure_transition_period < MINUTE:
        yield (
            f"evictionPressureTransitionPeriod is {period}: evicted pods return, and can be evicted again, that soon; set a "
            "minute or more"
        )
    of_standard = {
        "ranking": eviction.preferences != Preferences(),
        "evictionLimit": eviction.eviction_limit.pods,
        "disk.freeze": eviction.disk_freeze is FastFill.AUTO,
    }
    for name, is_set in of_standard.items():
        if is_set and eviction.policy is Policy.KUBELET:
            yield f"{name} has no effect under decisionPolicy Kubelet"
    if eviction.max_pod_grace_period_seconds < 0:
        yield "evictionMaxPodGracePeriod is negative: the policy Kubelet then ends pods at once, Standard keeps their own grace"


def _without_number(eviction: EvictionConfig) -> Iterator[str]:
    """Warn of percentages that are no number, which the kubelet accepts as well."""
    for each in eviction.thresholds:
        values = (("", each.value), ("the minimum reclaim of ", each.min_reclaim))
        for what, value in values:
            if value is not None and value.quantity is None and not math.isfinite(value.fraction):
                effect = "frees nothing more" if what else "is never met"
                yield f"{what}{each.signal.value}: {value} {effect}; write a number, such as 5%"


def _long_graces(eviction: EvictionConfig) -> Iterator[str]:
    """Warn of soft thresholds that act after a day only: an hour was most likely written for a minute."""
    for each in eviction.thresholds:
        if each.grace_period > _DAY and each.origin is not Origin.DERIVED:
            yield (
                f"evictionSoftGracePeriod.{each.signal.value} is {format_duration(each.grace_period)}: the threshold must be "
                "met for that long before a pod is evicted; set minutes, such as 1m30s"
            )


_FIELDS = {
    one.encode_name: [each.encode_name for each in below.fields]
    for kind in _TYPES
    for one in msgspec.structs.fields(kind)
    if isinstance(below := unwrap(msgspec.inspect.type_info(one.type)), msgspec.inspect.StructType)
}
"""The fields below each of them that has fields."""

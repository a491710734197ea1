"""Builds `Settings` from the merged documents and the flags, in the kubelet's order.

First the defaults of fields that are zero in the files, then the flags, then validation. All faults of all sources are reported
together, each with the file or flag it came from.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from evictd.codec.config import evictd_config
from evictd.codec.config.evictd_config import (
    EvictdConfiguration,
    decode_evictd,
    journal_file_bytes,
    validate_evictd,
)
from evictd.codec.config.kubelet_config import (
    build_eviction_config,
    containerfs_warnings,
    decode_kubelet,
    report_frequency,
    with_file_defaults,
)
from evictd.codec.config.kubelet_fields import WITHOUT_EFFECT, KubeletConfiguration
from evictd.codec.config.kubelet_validation import validate
from evictd.codec.config.pressure_fields import stall_thresholds, swap_thresholds
from evictd.config.flags import Flags
from evictd.config.layers import Layers
from evictd.config.settings import ClusterSettings, HookSettings, JournalSettings, Settings
from evictd.core.model.config import EvictionConfig, Policy, Preferences
from evictd.core.model.oom import MemoryQoSRules, MemoryReservationPolicy
from evictd.core.model.problem import ConfigProblem, shown
from evictd.core.model.resources import MEMORY
from evictd.core.model.threshold import Threshold
from evictd.core.units.quantity import parse_quantity
from evictd.errors import InputError


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
    )
    problems = [*kubelet_problems, *threshold_problems, *validate(kubelet), *evictd_problems, *validate_evictd(evictd)]
    _refuse(problems, layers, flags)
    update_was_set = read.node_status_update_frequency != 0 and "nodeStatusUpdateFrequency" in layers.kubelet
    report = report_frequency(kubelet, update_was_set=update_was_set or "node_status_update_frequency" in flags.kubelet)
    container_gc: Any = flags.container_gc
    eviction = with_options(eviction, evictd)
    eviction = replace(eviction, container_gc=replace(eviction.container_gc, **container_gc))
    made = _settings(kubelet, evictd, eviction)
    return replace(
        made,
        node_status_report_frequency=report,
        source=Path(layers.name) if layers.name else None,
        warnings=(*_warnings(kubelet, made.eviction, layers), *_pressure_warnings(evictd, made.eviction)),
        without_effect=_without_effect(kubelet),
    )


def _refuse(problems: Sequence[ConfigProblem], layers: Layers, flags: Flags) -> None:
    sources = _sources(layers, flags)
    problems = [_placed(problem) for problem in problems]
    lines = [f"{sources.get(_top(problem.path), layers.name) or 'default'}: {problem}" for problem in problems]
    lines = [*layers.problems, *lines, *(str(problem) for problem in flags.problems)]
    if lines:
        raise InputError(tuple(lines))


def _placed(problem: ConfigProblem) -> ConfigProblem:
    """Name the right document for a field that stands in the wrong one."""
    kind = _KINDS.get(problem.path)
    if problem.wrong != "unknown field" or kind is None:
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


def _settings(kubelet: KubeletConfiguration, evictd: EvictdConfiguration, eviction: EvictionConfig) -> Settings:
    return Settings(
        eviction=eviction,
        dry_run=evictd.dry_run,
        housekeeping_interval=int(evictd.housekeeping_interval),
        memory_formula=evictd.memory.formula,
        memory_watch=evictd.memory.watch,
        oom_score_adj=evictd.oom_score_adj,
        memory_qos=evictd.memory_qos,
        memory_qos_rules=_memory_qos_rules(kubelet),
        cluster=_cluster(evictd.cluster, kubelet),
        hooks=HookSettings(
            before=evictd.hooks.before, after=evictd.hooks.after, time_limit=int(evictd.hooks.time_limit)
        ),
        journal=JournalSettings(
            max_file_bytes=journal_file_bytes(evictd.journal),
            max_files=evictd.journal.max_files,
            log_tails=evictd.journal.log_tails,
        ),
        state_directory=Path(evictd.state_directory),
        listen_address=evictd.listen_address,
        container_runtime_endpoint=kubelet.container_runtime_endpoint,
        image_service_endpoint=kubelet.image_service_endpoint or kubelet.container_runtime_endpoint,
        runtime_request_timeout=int(kubelet.runtime_request_timeout),
        root_dir=Path(evictd.root_dir),
        pod_logs_dir=Path(kubelet.pod_logs_dir),
        static_pod_path=Path(kubelet.static_pod_path) if kubelet.static_pod_path else None,
        kernel_memcg_notification=kubelet.kernel_memcg_notification,
        cgroup_root=kubelet.cgroup_root or "/",
        kube_reserved={name: parse_quantity(text) for name, text in kubelet.kube_reserved.items()},
        system_reserved={name: parse_quantity(text) for name, text in kubelet.system_reserved.items()},
        node_status_update_frequency=int(kubelet.node_status_update_frequency),
    )


def _memory_qos_rules(kubelet: KubeletConfiguration) -> MemoryQoSRules:
    reserved = (kubelet.kube_reserved.get(MEMORY), kubelet.system_reserved.get(MEMORY))
    return MemoryQoSRules(
        policy=MemoryReservationPolicy(kubelet.memory_reservation_policy),
        throttling_factor=kubelet.memory_throttling_factor,
        reserved=sum(parse_quantity(text).value() for text in reserved if text is not None),
    )


def with_options(eviction: EvictionConfig, evictd: EvictdConfiguration) -> EvictionConfig:
    """Add what the core obeys beside the kubelet's own fields; `validate_evictd` has found no fault in it."""
    return replace(
        eviction,
        thresholds=(*eviction.thresholds, *_own_thresholds(evictd)),
        monitoring_period=int(evictd.housekeeping_interval),
        reclaim_containers=evictd.reclaim.containers,
        reclaim_images=evictd.reclaim.images,
        eviction_timeout=int(evictd.cluster.eviction_timeout),
        allow_api_pods_standalone=evictd.allow_api_pods_standalone,
        memory_lead=evictd.memory.lead,
        preferences=evictd_config.preferences(evictd.ranking),
        image_gc=replace(eviction.image_gc, keep=evictd.reclaim.keep_images),
    )


def _cluster(cluster: evictd_config.ClusterFields, kubelet: KubeletConfiguration) -> ClusterSettings:
    return ClusterSettings(
        kubeconfig=cluster.kubeconfig,
        node_name=cluster.node_name,
        pod_termination=cluster.pod_termination,
        condition_types=cluster.condition_types,
        taints=cluster.taints,
        eviction_timeout=int(cluster.eviction_timeout),
        evicted_pod_ttl=int(cluster.evicted_pod_ttl),
        event_record_qps=kubelet.event_record_qps,
        event_burst=kubelet.event_burst,
    )


def _without_effect(kubelet: KubeletConfiguration) -> tuple[str, ...]:
    """List the fields that differ from their default but that evictd does not obey, by YAML name."""
    default = KubeletConfiguration()
    names = {field.name: field.encode_name for field in msgspec.structs.fields(KubeletConfiguration)}
    return tuple(names[one] for one in WITHOUT_EFFECT if getattr(kubelet, one) != getattr(default, one))


def _own_thresholds(evictd: EvictdConfiguration) -> tuple[Threshold, ...]:
    return (*stall_thresholds(evictd.pressure), *swap_thresholds(evictd.swap))


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
                f"evictionMaxPodGracePeriod is 0: soft thresholds of {name} end pods at once; "
                "set it, such as 60, or hard: true"
            )


def _warnings(kubelet: KubeletConfiguration, eviction: EvictionConfig, layers: Layers) -> Iterator[str]:
    yield from containerfs_warnings(kubelet)
    if not layers.name and not any(threshold.hard for threshold in eviction.thresholds):
        yield "no configuration file was given, so there are no hard thresholds; give --config or --eviction-hard"
    elif not eviction.thresholds:
        yield "there are no thresholds: evictd never evicts a pod for pressure"
    for signal in sorted(kubelet.eviction_soft_grace_period.keys() - kubelet.eviction_soft.keys()):
        yield f"evictionSoftGracePeriod.{shown(signal)} has no effect: evictionSoft has no threshold for it"
    if kubelet.eviction_soft and eviction.max_pod_grace_period_seconds == 0:
        yield "evictionMaxPodGracePeriod is 0: soft thresholds end pods with a grace period of 0s; set it, such as 60"
    if eviction.pressure_transition_period <= 0:
        yield "evictionPressureTransitionPeriod is 0s: no node condition is ever reported"
    if eviction.preferences != Preferences() and eviction.policy is Policy.KUBELET:
        yield "ranking has no effect under decisionPolicy Kubelet"
    if eviction.max_pod_grace_period_seconds < 0:
        yield "evictionMaxPodGracePeriod is negative: the policy Kubelet then ends pods at once, Standard keeps their own grace"

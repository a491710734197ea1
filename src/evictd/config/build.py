"""From documents and flags to settings, in the kubelet's order.

Zero-means-default after the files, then flags, then validation. Every fault of every source is reported together, each with
the file or flag it came from.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from evictd.codec import evictd_config
from evictd.codec.evictd_config import EvictdConfiguration, decode_evictd, journal_file_bytes, validate_evictd
from evictd.codec.kubelet_config import (
    build_eviction_config,
    containerfs_warnings,
    decode_kubelet,
    report_frequency,
    with_file_defaults,
)
from evictd.codec.kubelet_fields import KubeletConfiguration
from evictd.codec.kubelet_validation import validate
from evictd.config.flags import Flags
from evictd.config.layers import Layers
from evictd.config.settings import ClusterSettings, JournalSettings, Settings
from evictd.core.config import EvictionConfig
from evictd.core.problem import Problem
from evictd.core.quantity import parse_quantity
from evictd.errors import InputError


def settings(layers: Layers, flags: Flags) -> Settings:
    """Make the settings, or raise `InputError` with everything that is wrong."""
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
    made = _settings(kubelet, evictd, _with_options(eviction, evictd, flags))
    return replace(
        made,
        node_status_report_frequency=report,
        source=Path(layers.name) if layers.name else None,
        warnings=tuple(_warnings(kubelet, made.eviction, layers)),
    )


def _refuse(problems: Sequence[Problem], layers: Layers, flags: Flags) -> None:
    sources = _sources(layers, flags)
    lines = [f"{sources.get(_top(problem.path), layers.name) or 'default'}: {problem}" for problem in problems]
    lines = [*layers.problems, *lines, *(str(problem) for problem in flags.problems)]
    if lines:
        raise InputError(tuple(lines))


def _top(path: str) -> str:
    return path.partition(".")[0].partition("[")[0]


def _sources(layers: Layers, flags: Flags) -> dict[str, str]:
    """Give the drop-in or the flag by the name of the field that it sets."""
    names = {one.name: one.encode_name for cls in _TYPES for one in msgspec.structs.fields(cls)}
    by_flag = {names[attribute]: flag for attribute, flag in flags.sources.items() if attribute in names}
    return {**layers.sources, **by_flag}


_TYPES: tuple[Any, ...] = (KubeletConfiguration, EvictdConfiguration)


def _settings(kubelet: KubeletConfiguration, evictd: EvictdConfiguration, eviction: EvictionConfig) -> Settings:
    return Settings(
        eviction=eviction,
        dry_run=evictd.dry_run,
        housekeeping_interval=int(evictd.housekeeping_interval),
        memory_formula=evictd.memory.formula,
        memory_watch=evictd.memory.watch,
        oom_score_adj=evictd.oom_score_adj,
        cluster=_cluster(evictd.cluster),
        journal=JournalSettings(max_file_bytes=journal_file_bytes(evictd.journal), max_files=evictd.journal.max_files),
        state_directory=Path(evictd.state_directory),
        listen_address=evictd.listen_address,
        container_runtime_endpoint=kubelet.container_runtime_endpoint,
        image_service_endpoint=kubelet.image_service_endpoint or kubelet.container_runtime_endpoint,
        runtime_request_timeout=int(kubelet.runtime_request_timeout),
        root_dir=Path(evictd.root_dir),
        pod_logs_dir=Path(kubelet.pod_logs_dir),
        static_pod_path=Path(kubelet.static_pod_path) if kubelet.static_pod_path else None,
        volume_stats_agg_period=int(kubelet.volume_stats_agg_period),
        kernel_memcg_notification=kubelet.kernel_memcg_notification,
        cgroup_root=kubelet.cgroup_root or "/",
        cgroup_driver=kubelet.cgroup_driver,
        cgroups_per_qos=kubelet.cgroups_per_qos,
        enforce_node_allocatable=kubelet.enforce_node_allocatable,
        kube_reserved={name: parse_quantity(text) for name, text in kubelet.kube_reserved.items()},
        system_reserved={name: parse_quantity(text) for name, text in kubelet.system_reserved.items()},
        kube_reserved_cgroup=kubelet.kube_reserved_cgroup,
        system_reserved_cgroup=kubelet.system_reserved_cgroup,
        max_pods=kubelet.max_pods,
        pods_per_core=kubelet.pods_per_core,
        pod_pids_limit=kubelet.pod_pids_limit,
        node_status_update_frequency=int(kubelet.node_status_update_frequency),
        event_record_qps=kubelet.event_record_qps,
        event_burst=kubelet.event_burst,
        memory_qos=kubelet.feature_gates.get("MemoryQoS", False),
        memory_throttling_factor=kubelet.memory_throttling_factor,
        memory_reservation_policy=kubelet.memory_reservation_policy,
        memory_swap_behavior=kubelet.memory_swap.swap_behavior,
        single_process_oom_kill=kubelet.single_process_oom_kill,
    )


def _with_options(eviction: EvictionConfig, evictd: EvictdConfiguration, flags: Flags) -> EvictionConfig:
    container_gc: Any = flags.container_gc
    return replace(
        eviction,
        monitoring_period=int(evictd.housekeeping_interval),
        reclaim_containers=evictd.reclaim.containers,
        reclaim_images=evictd.reclaim.images,
        image_gc=replace(eviction.image_gc, keep=evictd.reclaim.keep_images),
        container_gc=replace(eviction.container_gc, **container_gc),
    )


def _cluster(cluster: evictd_config.Cluster) -> ClusterSettings:
    return ClusterSettings(
        kubeconfig=cluster.kubeconfig,
        node_name=cluster.node_name,
        pod_termination=cluster.pod_termination,
        condition_types=cluster.condition_types,
        taints=cluster.taints,
        eviction_timeout=int(cluster.eviction_timeout),
        evicted_pod_ttl=int(cluster.evicted_pod_ttl),
    )


def _warnings(kubelet: KubeletConfiguration, eviction: EvictionConfig, layers: Layers) -> Iterator[str]:
    yield from containerfs_warnings(kubelet)
    if not layers.name and not any(threshold.hard for threshold in eviction.thresholds):
        yield "no configuration file was given, so there are no hard thresholds; give --config or --eviction-hard"
    elif not eviction.thresholds:
        yield "there are no thresholds: no pod is ever evicted for pressure"
    if eviction.pressure_transition_period <= 0:
        yield "evictionPressureTransitionPeriod is 0s: no node condition is ever reported"
    if eviction.max_pod_grace_period_seconds < 0:
        yield "evictionMaxPodGracePeriod is negative: the policy Kubelet ends such pods at once, Standard gives their own grace"

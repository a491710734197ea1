"""Finds cgroups whose memory.min, memory.low and memory.high differ from the documented Memory QoS values (cgroup v2).

The kubelet gives the values of a container to the runtime when it creates it, so a container that was created before the feature
was on, or by another runtime configuration, lacks them. Under the reservation policy None only memory.high of containers is
compared; nothing else is set then. On cgroup v1 there is nothing to compare.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from evictd.core.model.oom import (
    MemoryQoS,
    MemoryQoSDifference,
    MemoryQoSRules,
    MemoryReservationPolicy,
    container_memory_qos,
    pod_memory_qos,
    qos_memory,
)
from evictd.core.model.pod import Pod
from evictd.core.model.resources import QOSClass
from evictd.errors import NodeError
from evictd.observe.cgroups.kernel_text import parse_limit
from evictd.observe.pods.oom_score import running_containers, running_names
from evictd.observe.runtime.runtime_view import RuntimeView
from evictd.observe.untrusted_paths import is_safe_path

Values = Mapping[str, int | None]
"""The documented value by file name."""


def memory_qos_differences(
    pods: Iterable[Pod], view: RuntimeView, rules: MemoryQoSRules, *, memory_capacity: int, cgroup_root: Path
) -> tuple[MemoryQoSDifference, ...]:
    """Compare the cgroups of these pods, outer ones first; pods with unknown requests are skipped. Amounts are bytes."""
    if not (cgroup_root / "cgroup.controllers").is_file():
        return ()
    placed = [
        (pod, cgroup)
        for pod in pods
        if pod.spec_known and (cgroup := view.pod_cgroups.get(pod.uid)) is not None and is_safe_path(cgroup)
    ]
    wanted = [*_above(placed, rules), *_pods(placed, view, rules, memory_capacity, cgroup_root)]
    found = (_compare(subject, cgroup, values, cgroup_root) for subject, cgroup, values in wanted)
    return tuple(difference for differences in found for difference in differences)


def _above(placed: list[tuple[Pod, str]], rules: MemoryQoSRules) -> Iterator[tuple[str, str, Values]]:
    """Yield the cgroups above the pods, which must be protected for the pods' own protection to have an effect."""
    if rules.policy is MemoryReservationPolicy.NONE:
        return
    sums = qos_memory((pod for pod, _ in placed), rules.policy)
    parents = {pod.qos_class: PurePosixPath(cgroup).parent for pod, cgroup in placed}
    for quality, parent in parents.items():
        root = parent if quality is QOSClass.GUARANTEED else parent.parent
        yield "all pods", str(root), {"memory.min": sums.root_min}
        break
    if QOSClass.BURSTABLE in parents:
        yield "burstable pods", str(parents[QOSClass.BURSTABLE]), {"memory.low": sums.burstable_low}


def _pods(
    placed: list[tuple[Pod, str]], view: RuntimeView, rules: MemoryQoSRules, memory_capacity: int, cgroup_root: Path
) -> Iterator[tuple[str, str, Values]]:
    running = running_names(view)
    tiered = rules.policy is MemoryReservationPolicy.TIERED_RESERVATION
    for pod, cgroup in placed:
        if tiered:
            yield pod.full_name, cgroup, _reserved(pod_memory_qos(pod, rules.policy))
        for spec, child in running_containers(pod, cgroup, running, cgroup_root):
            page_size = os.sysconf("SC_PAGE_SIZE")
            qos = container_memory_qos(pod, spec, rules, memory_capacity=memory_capacity, page_size=page_size)
            values = {**(_reserved(qos) if tiered else {}), "memory.high": qos.high}
            yield f"{pod.full_name} {spec.name}", f"{cgroup}/{child.name}", values


def _reserved(qos: MemoryQoS) -> dict[str, int | None]:
    return {"memory.min": qos.min, "memory.low": qos.low}


def _compare(subject: str, cgroup: str, values: Values, cgroup_root: Path) -> Iterator[MemoryQoSDifference]:
    for name, value in values.items():
        expected = None if value is None else value - value % os.sysconf("SC_PAGE_SIZE")  # the kernel keeps whole pages
        path = cgroup_root / cgroup.lstrip("/") / name
        try:
            found = parse_limit(path.read_bytes(), str(path))
        except (OSError, NodeError):
            continue  # the cgroup is gone, or has no memory controller
        if found != expected:
            yield MemoryQoSDifference(subject=subject, cgroup=cgroup, file=name, expected=expected, found=found)

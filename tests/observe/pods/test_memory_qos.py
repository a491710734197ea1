"""Cgroups that lack the documented Memory QoS values are found, in a tree of files."""

import os
from dataclasses import replace
from pathlib import Path

from evictd.core.model.oom import MemoryQoSRules, MemoryReservationPolicy
from evictd.core.model.pod import Pod
from evictd.core.model.resources import Container
from evictd.core.units.quantity import parse_quantity
from evictd.observe.pods.memory_qos import memory_qos_differences
from evictd.observe.runtime.runtime_view import RuntimeView
from tests.observe.runtime_double import container
from tests.trees import Tree, plant

GI, MI = 1 << 30, 1 << 20
TIERED = MemoryQoSRules(policy=MemoryReservationPolicy.TIERED_RESERVATION)


BURSTABLE = Pod(
    name="b",
    namespace="ns",
    uid="b",
    containers=(
        Container(
            name="main", requests={"memory": parse_quantity("256Mi")}, limits={"memory": parse_quantity("512Mi")}
        ),
    ),
)
GUARANTEED = Pod(
    name="g",
    namespace="ns",
    uid="g",
    containers=(
        Container(
            name="main",
            requests={"memory": parse_quantity("1Gi"), "cpu": parse_quantity("1")},
            limits={"memory": parse_quantity("1Gi"), "cpu": parse_quantity("1")},
        ),
    ),
)
CGROUPS = {"b": "/kubepods/burstable/podb", "g": "/kubepods/podg"}
EMPTY = {"memory.min": "0\n", "memory.low": "0\n", "memory.high": "max\n"}
NODE: Tree = {
    "cgroup.controllers": "memory\n",
    "kubepods": {
        **EMPTY,
        "podg": {**EMPTY, "c2": EMPTY},
        "burstable": {**EMPTY, "podb": {**EMPTY, "c1": EMPTY, "pause": EMPTY}},
    },
}


def found(base: Path, rules: MemoryQoSRules, *pods: Pod, tree: Tree = NODE) -> list[tuple[str, str, str, int | None]]:
    rows = (container("c1", "main"), container("c2", "main"))
    view = RuntimeView(time=1, sandboxes=(), containers=rows, pod_cgroups=CGROUPS)
    root = plant(base, tree)
    differences = memory_qos_differences(pods, view, rules, memory_capacity=8 * GI, cgroup_root=root)
    return [(each.subject, each.cgroup, each.file, each.expected) for each in differences]


def test_without_a_reservation_only_memory_high_of_containers_is_compared(tmp_path: Path) -> None:
    """510025728 is the value of Kubernetes' own documentation for 256Mi, 512Mi and 0.9; equal amounts have none."""
    high = ("ns/b main", "/kubepods/burstable/podb/c1", "memory.high", 510025728)
    assert found(tmp_path, MemoryQoSRules(), BURSTABLE, GUARANTEED) == [high]
    (tmp_path / "kubepods/burstable/podb/c1/memory.high").write_text("510025728\n")
    assert found(tmp_path, MemoryQoSRules(), BURSTABLE, GUARANTEED, tree={}) == []


def test_a_container_without_a_limit_is_throttled_by_what_the_node_can_give(tmp_path: Path) -> None:
    one = replace(BURSTABLE, containers=(replace(BURSTABLE.containers[0], limits={}),))
    page = os.sysconf("SC_PAGE_SIZE")
    expected = (256 * MI + int((6 * GI - 256 * MI) * 0.5)) // page * page
    [(_, _, _, high)] = found(tmp_path, MemoryQoSRules(throttling_factor=0.5, reserved=2 * GI), one)
    assert high == expected


def test_a_tiered_reservation_protects_each_level_from_the_outside_in(tmp_path: Path) -> None:
    pod, qos = "/kubepods/burstable/podb", "/kubepods/burstable"
    assert found(tmp_path, TIERED, BURSTABLE, GUARANTEED) == [
        ("all pods", "/kubepods", "memory.min", GI + 256 * MI),
        ("burstable pods", qos, "memory.low", 256 * MI),
        ("ns/b", pod, "memory.low", 256 * MI),
        ("ns/b main", f"{pod}/c1", "memory.low", 256 * MI),
        ("ns/b main", f"{pod}/c1", "memory.high", 510025728),
        ("ns/g", "/kubepods/podg", "memory.min", GI),
        ("ns/g main", "/kubepods/podg/c2", "memory.min", GI),
    ]


def test_a_request_of_no_whole_pages_is_compared_as_the_kernel_keeps_it(tmp_path: Path) -> None:
    """100M is 24414 pages of 4096 bytes, and 256 bytes; the file shows the pages."""
    pages = 100_000_000 // os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PAGE_SIZE")
    request = {"memory": parse_quantity("100M"), "cpu": parse_quantity("1")}
    pod = replace(GUARANTEED, containers=(Container(name="main", requests=request, limits=request),))
    assert {expected for *_, expected in found(tmp_path / "before", TIERED, pod)} == {pages}
    kept = {**EMPTY, "memory.min": f"{pages}\n"}
    tree: Tree = {"cgroup.controllers": "memory\n", "kubepods": {**kept, "podg": {**kept, "c2": kept}}}
    assert found(tmp_path / "after", TIERED, pod, tree=tree) == []


def test_nothing_is_compared_on_cgroup_v1_or_of_pods_whose_requests_are_unknown(tmp_path: Path) -> None:
    assert found(tmp_path / "v1", TIERED, BURSTABLE, tree={"memory": {}}) == []
    assert found(tmp_path / "v2", TIERED, replace(BURSTABLE, spec_known=False)) == []


def test_a_cgroup_that_is_gone_or_lies_outside_is_skipped(tmp_path: Path) -> None:
    assert found(tmp_path, MemoryQoSRules(), BURSTABLE, tree={"cgroup.controllers": "memory\n"}) == []
    view = RuntimeView(time=1, sandboxes=(), containers=(), pod_cgroups={"b": "/kubepods/../../etc"})
    rules = MemoryQoSRules(policy=MemoryReservationPolicy.TIERED_RESERVATION)
    assert memory_qos_differences((BURSTABLE,), view, rules, memory_capacity=GI, cgroup_root=tmp_path) == ()

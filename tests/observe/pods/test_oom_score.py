"""Comparing the OOM scores of running processes with the documented ones."""

from pathlib import Path

import pytest

from evictd.clients.cri.values import CriContainer as RuntimeContainer
from evictd.core.gc.container_gc import ContainerState
from evictd.core.model.oom import OomScoreDifference
from evictd.core.model.pod import Pod
from evictd.core.model.resources import Container
from evictd.core.units.quantity import parse_quantity
from evictd.observe.pods.manifests import ManifestReader
from evictd.observe.pods.node_pods import node_pods
from evictd.observe.pods.oom_score import container_id, containers_root, oom_score_differences
from evictd.observe.runtime.runtime_view import RuntimeReader, RuntimeView
from evictd_testnode.node import DisposableNode
from evictd_testnode.pods import ContainerRecipe, PodRecipe
from tests.trees import Tree, plant, v1_node, v2, v2_node

CAPACITY = 16 << 30
CGROUP = "/kubepods/burstable/podu"


def burstable(*names: str, spec_known: bool = True) -> Pod:
    requests = {"memory": parse_quantity("1Gi")}
    containers = tuple(Container(name=name, requests=requests) for name in names)
    return Pod(name="web", namespace="default", uid="u", containers=containers, spec_known=spec_known)


def view(*names: str) -> RuntimeView:
    containers = tuple(
        RuntimeContainer(
            id=f"id{name}", sandbox_id="s", name=name, attempt=0, image="", image_ref="", image_id="",
            state=ContainerState.RUNNING, created_at=1, annotations={},
        )
        for name in names
    )  # fmt: skip
    return RuntimeView(time=0, sandboxes=(), containers=containers, pod_cgroups={"u": CGROUP})


@pytest.fixture
def trees(tmp_path: Path) -> tuple[Path, Path]:
    """A cgroup hierarchy and a /proc, both empty."""
    return tmp_path / "cgroup", tmp_path / "proc"


def processes(trees: tuple[Path, Path], cgroup: str, scores: dict[int, int]) -> None:
    cgroup_root, proc_root = trees
    group = cgroup_root / CGROUP.lstrip("/") / cgroup
    group.mkdir(parents=True)
    (group / "cgroup.procs").write_text("".join(f"{pid}\n" for pid in scores))
    for pid, score in scores.items():
        (proc_root / str(pid)).mkdir(parents=True)
        (proc_root / str(pid) / "oom_score_adj").write_text(f"{score}\n")


def compare(trees: tuple[Path, Path], pod: Pod, of: RuntimeView) -> tuple[OomScoreDifference, ...]:
    return oom_score_differences([pod], of, memory_capacity=CAPACITY, cgroup_root=trees[0], proc_root=trees[1])


def test_the_documented_score_is_no_difference(trees: tuple[Path, Path]) -> None:
    processes(trees, "idmain", {7: 938, 8: 938})
    assert compare(trees, burstable("main"), view("main")) == ()


def test_another_score_is_one_with_the_processes_that_have_it(trees: tuple[Path, Path]) -> None:
    processes(trees, "idmain", {7: 0, 8: 0, 9: 500})
    (found,) = compare(trees, burstable("main"), view("main"))
    assert (found.container, found.expected, found.found, found.pids) == ("main", 938, 0, (7, 8))
    assert found.cgroup == f"{CGROUP}/idmain"


def test_a_process_that_raised_its_own_score_is_no_difference(trees: tuple[Path, Path]) -> None:
    processes(trees, "idmain", {7: 938, 8: 1000})
    assert compare(trees, burstable("main"), view("main")) == ()


def test_the_sandbox_and_what_is_unknown_have_no_documented_score(trees: tuple[Path, Path]) -> None:
    processes(trees, "pause", {7: -998})
    assert compare(trees, burstable("main"), view("main")) == ()
    processes(trees, "idmain", {8: 0})
    assert compare(trees, burstable("main", spec_known=False), view("main")) == ()


@pytest.mark.parametrize("text", ["", "x", "9" * 5000, "\xff", "1_0"])
def test_a_score_that_is_no_number_is_no_difference(trees: tuple[Path, Path], text: str) -> None:
    processes(trees, "idmain", {7: 0, 8: 0})
    (trees[1] / "7/oom_score_adj").write_text(text, encoding="latin-1")
    (found,) = compare(trees, burstable("main"), view("main"))
    assert found.pids == (8,)


def test_a_process_that_vanishes_is_no_difference(trees: tuple[Path, Path]) -> None:
    processes(trees, "idmain", {7: 0})
    (trees[1] / "7/oom_score_adj").unlink()
    assert compare(trees, burstable("main"), view("main")) == ()
    assert compare((trees[0] / "missing", trees[1]), burstable("main"), view("main")) == ()


@pytest.mark.parametrize("name", ["abc", "crio-abc", "cri-containerd-abc.scope", "crio-abc.scope"])
def test_the_id_is_in_the_name_of_the_cgroup(name: str) -> None:
    assert container_id(name) == "abc"


@pytest.mark.root
@pytest.mark.containerd
def test_real_containers(each_node: DisposableNode) -> None:
    guaranteed = {"memory": "16Mi", "cpu": "10m"}
    each_node.run_pod(PodRecipe(name="plain"))
    each_node.run_pod(
        PodRecipe(name="vip", containers=(ContainerRecipe(name="vip", requests=guaranteed, limits=guaranteed),))
    )
    seen = RuntimeReader(each_node.client).read(0, with_stats=False)
    pods = node_pods(seen, ManifestReader(each_node.manifests).read()).active
    found = oom_score_differences(
        pods, seen, memory_capacity=CAPACITY, cgroup_root=Path("/sys/fs/cgroup/pids"), proc_root=Path("/proc")
    )
    # The disposable node's containerd never lowers a score (restrict_oom_score_adj), which is just such a difference.
    assert [(each.pod.name, each.expected) for each in found if each.found > each.expected] == [("vip", -997)]
    assert all(each.pids for each in found)


@pytest.mark.parametrize(
    ("tree", "root"),
    [
        (v2_node(systemd=True), "."),
        (v1_node(), "memory"),
        ({**v1_node(), "unified": {"cgroup.controllers": "hugetlb\n"}}, "memory"),
        ({"cpu": {}, "unified": v2()}, "unified"),
        ({}, "."),
    ],
)
def test_the_hierarchy_that_all_containers_are_in_is_found(tmp_path: Path, tree: Tree, root: str) -> None:
    plant(tmp_path, tree)
    assert containers_root(tmp_path) == tmp_path / root

"""Finding the cgroup hierarchy, and the names of cgroups."""

import os
from pathlib import Path

import pytest

from evictd.errors import NodeError
from evictd.observe.cgroups.cgroup import (
    CgroupDriver,
    PodsCgroup,
    container_cgroups,
    find_hierarchy,
    find_pods_cgroup,
    may_kill_pods,
    place_of,
    pod_cgroup,
    pod_cgroups,
    pod_uids,
    pods_cgroup,
    slice_path,
)
from evictd.observe.cgroups.cgroup_reader import CgroupV2
from evictd.observe.cgroups.file_descriptor_cache import FileDescriptorCache
from evictd.observe.reading.problems import Problems
from tests.trees import Tree, plant, v1_node, v2, v2_node


@pytest.mark.parametrize(
    ("tree", "version"),
    [
        (v2_node(systemd=True), "v2"),
        (v1_node(), "v1"),
        ({**v1_node(), "unified": {"cgroup.controllers": "hugetlb\n"}}, "v1 (hybrid)"),
        ({"cpu": {}, "unified": v2()}, "v2"),
    ],
    ids=["unified", "one tree per controller", "both, memory in the old", "both, memory in the new"],
)
def test_the_tree_with_the_memory_controller_is_found(tmp_path: Path, tree: Tree, version: str) -> None:
    plant(tmp_path, tree)
    assert find_hierarchy(tmp_path, FileDescriptorCache(0)).version == version


@pytest.mark.parametrize("tree", [{}, {"cpu": {}}, {"unified": {"cgroup.controllers": "cpu\n"}}])
def test_a_tree_without_the_memory_controller_is_an_error(tmp_path: Path, tree: Tree) -> None:
    plant(tmp_path, tree)
    with pytest.raises(NodeError, match="memory controller"):
        find_hierarchy(tmp_path, FileDescriptorCache(0))


@pytest.mark.parametrize(
    ("driver", "root", "name"),
    [
        (CgroupDriver.CGROUPFS, "/", "/kubepods"),
        (CgroupDriver.SYSTEMD, "/", "/kubepods.slice"),
        (CgroupDriver.CGROUPFS, "/a/b", "/a/b/kubepods"),
        (CgroupDriver.SYSTEMD, "/a/b", "/a.slice/a-b.slice/a-b-kubepods.slice"),
        (CgroupDriver.CGROUPFS, "/my-root", "/my-root/kubepods"),
        (CgroupDriver.SYSTEMD, "/my-root", "/my_root.slice/my_root-kubepods.slice"),
        (CgroupDriver.SYSTEMD, "/a-b/c_d-e", "/a_b.slice/a_b-c_d_e.slice/a_b-c_d_e-kubepods.slice"),
    ],
)
def test_the_cgroup_of_all_pods_has_the_kubelets_name(driver: CgroupDriver, root: str, name: str) -> None:
    assert pods_cgroup(driver, root) == name


def test_a_slice_lies_in_the_slices_of_its_name() -> None:
    assert slice_path("a.slice") == "/a.slice"
    assert slice_path("a-b-c.slice") == "/a.slice/a-b.slice/a-b-c.slice"


@pytest.mark.parametrize(
    ("pods", "qos", "name"),
    [
        ("/kubepods", "burstable", "/kubepods/burstable/poda-b"),
        ("/kubepods", "", "/kubepods/poda-b"),
        ("/kubepods.slice", "", "/kubepods.slice/kubepods-poda_b.slice"),
        ("/kubepods.slice", "besteffort", "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-poda_b.slice"),
        (
            "/a.slice/a-kubepods.slice",
            "burstable",
            "/a.slice/a-kubepods.slice/a-kubepods-burstable.slice/a-kubepods-burstable-poda_b.slice",
        ),
        ("/my_r.slice/my_r-kubepods.slice", "", "/my_r.slice/my_r-kubepods.slice/my_r-kubepods-poda_b.slice"),
    ],
)
def test_a_pods_cgroup_has_the_kubelets_name(pods: str, qos: str, name: str) -> None:
    assert pod_cgroup(pods, "a-b", qos) == name


def test_a_containers_cgroup_is_named_by_its_runtime() -> None:
    assert container_cgroups("/kubepods/podx", "c1") == ("/kubepods/podx/c1", "/kubepods/podx/crio-c1")
    assert container_cgroups("/k.slice/k-podx.slice", "c1") == (
        "/k.slice/k-podx.slice/cri-containerd-c1.scope",
        "/k.slice/k-podx.slice/crio-c1.scope",
    )


def test_the_cgroup_of_all_pods_is_found_under_either_driver(tmp_path: Path) -> None:
    for systemd, name in ((True, "/kubepods.slice"), (False, "/kubepods")):
        root = plant(tmp_path / name[1:], v2_node(systemd=systemd))
        assert find_pods_cgroup(find_hierarchy(root, FileDescriptorCache(0))) == name
        assert find_pods_cgroup(find_hierarchy(root, FileDescriptorCache(0)), "/elsewhere") is None


def test_an_empty_cgroup_of_the_other_driver_does_not_hide_the_pods(tmp_path: Path) -> None:
    """After a change of the kubelet's driver `/kubepods.slice` may stay behind until the next boot."""
    empty = v2(0)
    for systemd, name in ((True, "/kubepods.slice"), (False, "/kubepods")):
        left = "kubepods" if systemd else "kubepods.slice"
        root = plant(tmp_path / name[1:], {**v2_node(systemd=systemd), left: empty})
        assert find_pods_cgroup(find_hierarchy(root, FileDescriptorCache(0))) == name
    both = plant(
        tmp_path / "both", v2(0, below={"kubepods": empty, "kubepods.slice": empty, "cgroup.controllers": "memory"})
    )
    assert find_pods_cgroup(find_hierarchy(both, FileDescriptorCache(0))) == "/kubepods.slice"


def test_every_class_of_a_pod_has_a_name_and_an_unsafe_uid_none() -> None:
    assert pod_cgroups("/kubepods", "u") == ("/kubepods/burstable/podu", "/kubepods/besteffort/podu", "/kubepods/podu")
    assert [pod_cgroups("/kubepods", uid) for uid in ("", "..", "a/b", "a\0")] == [()] * 4


@pytest.mark.parametrize("driver", CgroupDriver)
@pytest.mark.parametrize("qos", ["", "burstable", "besteffort"])
def test_the_uids_of_pods_are_read_from_the_names_of_their_cgroups(
    tmp_path: Path, driver: CgroupDriver, qos: str
) -> None:
    pods = pods_cgroup(driver)
    for uid in ("1f-2e", "abc"):
        (tmp_path / pod_cgroup(pods, uid, qos).lstrip("/") / "container").mkdir(parents=True)
    assert pod_uids(CgroupV2(tmp_path, FileDescriptorCache(0)), pods) == ("1f-2e", "abc")
    assert pod_uids(CgroupV2(tmp_path, FileDescriptorCache(0)), "/absent") == ()


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/kubepods/pod1", ("/kubepods", "/")),
        ("/a/b/kubepods/burstable/pod1", ("/a/b/kubepods", "/a/b")),
        ("/kubepods.slice/kubepods-pod1.slice", ("/kubepods.slice", "/")),
        (
            "/a.slice/a-b.slice/a-b-kubepods.slice/a-b-kubepods-pod1.slice",
            ("/a.slice/a-b.slice/a-b-kubepods.slice", "/a/b"),
        ),
        ("/system.slice/pod1", None),
    ],
)
def test_a_pods_cgroup_shows_where_all_pods_lie(path: str, expected: tuple[str, str] | None) -> None:
    """Of both cgroup drivers."""
    assert place_of(path) == expected
    if expected is not None:
        driver = CgroupDriver.SYSTEMD if ".slice" in path else CgroupDriver.CGROUPFS
        assert pods_cgroup(driver, expected[1]) == expected[0]


def test_the_name_of_a_cgroup_that_is_no_text_is_no_pod(tmp_path: Path) -> None:
    """A privileged pod can make it; asked for a pod of that uid, the client of the runtime would fail in each cycle."""
    (tmp_path / "kubepods/pod1").mkdir(parents=True)
    (tmp_path / os.fsdecode(b"kubepods/pod\xff")).mkdir()
    assert pod_uids(CgroupV2(tmp_path, FileDescriptorCache(0)), "/kubepods") == ("1",)


ELSEWHERE = "/node.slice/node-kubepods.slice"


def found_pods(base: Path, root: str = "/", explicit: str | None = None) -> PodsCgroup:
    tree = plant(base, v2_node(systemd=True))
    (tree / ELSEWHERE.lstrip("/")).mkdir(parents=True)
    return PodsCgroup(find_hierarchy(tree, FileDescriptorCache(0)), root, explicit)


def test_it_is_found_under_the_cgroup_root(tmp_path: Path) -> None:
    pods, problems = found_pods(tmp_path), Problems()
    assert (pods.path, pods.folder) == (None, None)
    assert pods.find(problems) == "/kubepods.slice"
    folder = pods.folder
    assert folder == tmp_path / "kubepods.slice"
    assert problems.found() == ()


def test_an_explicit_path_is_not_searched_for(tmp_path: Path) -> None:
    pods = found_pods(tmp_path, explicit=ELSEWHERE)
    assert pods.find(Problems()) == ELSEWHERE
    assert pods.folder == tmp_path / ELSEWHERE.lstrip("/")


def test_the_place_that_the_runtime_reports_is_used_where_the_root_has_none(tmp_path: Path) -> None:
    """The threads that act on cgroups go there as well, and not to where `cgroupRoot` says."""
    pods, problems = found_pods(tmp_path, root="/none"), Problems()
    assert pods.find(Problems()) is None
    pods.note([f"{ELSEWHERE}/node-kubepods-burstable.slice/node-kubepods-burstable-podu.slice"])
    assert pods.find(problems) == ELSEWHERE
    assert [each.source for each in problems.found()] == ["pods cgroup"]


def test_pods_may_be_killed_where_the_file_of_the_kernel_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may write everything but what is mounted read-only, which a test cannot do without privileges."""
    assert may_kill_pods(tmp_path) is None, "an old kernel, or cgroup v1"
    (tmp_path / "kubepods.slice").mkdir()
    file = tmp_path / "kubepods.slice/cgroup.kill"
    file.touch()
    assert may_kill_pods(tmp_path) is True
    monkeypatch.setattr(os, "access", lambda path, mode: (path, mode) != (file, os.W_OK))
    assert may_kill_pods(tmp_path) is False

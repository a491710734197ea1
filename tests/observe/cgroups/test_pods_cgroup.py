"""Where the cgroup of all pods is looked for."""

from pathlib import Path

from evictd.observe.cgroups.cgroup import find_hierarchy
from evictd.observe.cgroups.file_descriptor_cache import FileDescriptorCache
from evictd.observe.cgroups.pods_cgroup import PodsCgroup
from evictd.observe.reading.problems import Problems
from tests.trees import plant, v2_node

ELSEWHERE = "/node.slice/node-kubepods.slice"


def pods_cgroup(base: Path, root: str = "/", explicit: str | None = None) -> PodsCgroup:
    tree = plant(base, v2_node(systemd=True))
    (tree / ELSEWHERE.lstrip("/")).mkdir(parents=True)
    return PodsCgroup(find_hierarchy(tree, FileDescriptorCache(0)), root, explicit)


def test_it_is_found_under_the_cgroup_root(tmp_path: Path) -> None:
    pods, problems = pods_cgroup(tmp_path), Problems()
    assert (pods.path, pods.folder) == (None, None)
    assert pods.find(problems) == "/kubepods.slice"
    folder = pods.folder
    assert folder == tmp_path / "kubepods.slice"
    assert problems.found() == ()


def test_an_explicit_path_is_not_searched_for(tmp_path: Path) -> None:
    pods = pods_cgroup(tmp_path, explicit=ELSEWHERE)
    assert pods.find(Problems()) == ELSEWHERE
    assert pods.folder == tmp_path / ELSEWHERE.lstrip("/")


def test_the_place_that_the_runtime_reports_is_used_where_the_root_has_none(tmp_path: Path) -> None:
    """The threads that act on cgroups go there as well, and not to where `cgroupRoot` says."""
    pods, problems = pods_cgroup(tmp_path, root="/none"), Problems()
    assert pods.find(Problems()) is None
    pods.note([f"{ELSEWHERE}/node-kubepods-burstable.slice/node-kubepods-burstable-podu.slice"])
    assert pods.find(problems) == ELSEWHERE
    assert [each.source for each in problems.found()] == ["pods cgroup"]

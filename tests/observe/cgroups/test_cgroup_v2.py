"""Memory and tasks of cgroup v2, with both drivers and nested slices."""

from pathlib import Path

import pytest

from evictd.errors import NodeError
from evictd.observe.cgroups.cgroup import CgroupDriver as Driver
from evictd.observe.cgroups.cgroup import pod_cgroup, pods_cgroup
from evictd.observe.cgroups.cgroup_v2 import CgroupV2
from evictd.observe.cgroups.file_descriptor_cache import FileDescriptorCache, VanishedError
from tests.trees import Tree, plant, v2, v2_node


def reader(base: Path, tree: Tree) -> CgroupV2:
    return CgroupV2(plant(base, tree), FileDescriptorCache(0))


@pytest.mark.parametrize("driver", Driver)
def test_pods_and_containers_are_read_under_both_drivers(tmp_path: Path, driver: Driver) -> None:
    cgroups = reader(tmp_path, v2_node(systemd=driver is Driver.SYSTEMD))
    pods = pods_cgroup(driver)
    pod = pod_cgroup(pods, "a-b", "burstable")
    assert cgroups.working_set(pods) == (5000, 4000)
    assert cgroups.limit(pods) == 9000
    assert cgroups.working_set(pod) == (100, 80)
    assert cgroups.pids_current(pod) == 4
    assert cgroups.limit(pod) is None
    assert cgroups.pressure(pod)["some"].total_us == 12345


def test_the_root_without_memory_current_is_anon_and_file(tmp_path: Path) -> None:
    cgroups = reader(tmp_path, v2(anon=300, file=200, inactive=150))
    assert cgroups.usage("/") == 500
    assert cgroups.working_set("/") == (500, 350)


def test_the_root_of_a_cgroup_namespace_uses_its_memory_current(tmp_path: Path) -> None:
    assert reader(tmp_path, v2(700, anon=300, file=200)).usage("/") == 700


def test_only_the_root_may_lack_memory_current(tmp_path: Path) -> None:
    cgroups = reader(tmp_path, {"a": v2(anon=1, file=1)})
    with pytest.raises(VanishedError):
        cgroups.usage("/a")


@pytest.mark.parametrize("text", ["", "12", "max\n", "x\n", f"{2**64}\n"])
def test_a_file_that_makes_no_sense_is_an_error(tmp_path: Path, text: str) -> None:
    cgroups = reader(tmp_path, {"a": {**v2(1), "memory.current": text}})
    with pytest.raises(NodeError):
        cgroups.working_set("/a")


def test_what_a_cgroup_writes_to_all_devices(tmp_path: Path) -> None:
    """With what waits to be written, and the inodes that it made, which show as the kernel's memory."""
    stat = "anon 900\nfile 800\ninactive_file 0\nfile_dirty 30\nfile_writeback 4\nslab_reclaimable 500\n"
    written = "8:0 rbytes=7 wbytes=1000 rios=1 wios=2 dbytes=0 dios=0\n7:1 rbytes=9 wbytes=20 rios=1 wios=2\n"
    cgroups = reader(tmp_path, {"a": {**v2(1), "memory.stat": stat, "io.stat": written}, "without io": v2(1)})
    assert cgroups.writes("/a") == (1520, 34)
    assert cgroups.writes("/without io") == (0, 1)
    with pytest.raises(NodeError):
        cgroups.writes("/none")


@pytest.mark.parametrize("text", ["8:0 wbytes=-1\n", "8:0 wbytes=\n", f"8:0 wbytes={2**64}\n"])
def test_an_io_stat_that_makes_no_sense_is_an_error(tmp_path: Path, text: str) -> None:
    with pytest.raises(NodeError):
        reader(tmp_path, {"a": {**v2(1), "io.stat": text}}).writes("/a")


def test_whether_page_cache_can_be_dropped(tmp_path: Path) -> None:
    cgroups = reader(tmp_path, {"new": {**v2(1), "memory.reclaim": ""}, "old": v2(1)})
    assert cgroups.drops_page_cache("/new")
    assert not cgroups.drops_page_cache("/old")

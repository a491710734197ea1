"""What is read alike of cgroups of both versions."""

import subprocess
import sys
from pathlib import Path

import pytest

from evictd.errors import NodeError
from evictd.observe.cgroups.cgroup import CgroupDriver as Driver
from evictd.observe.cgroups.cgroup import find_hierarchy, pod_cgroup, pods_cgroup
from evictd.observe.cgroups.cgroup_reader import CgroupReader, CgroupV1, CgroupV2
from evictd.observe.cgroups.file_descriptor_cache import FileDescriptorCache, VanishedError
from evictd.observe.disk_usage.writers import Writers
from evictd_testnode.cgroups import CGROUP_MOUNT, group, is_unified, trees
from tests import real_cgroups
from tests.trees import PSI, Tree, plant, v1_node, v2, v2_node


@pytest.fixture(params=["v1", "v2"])
def cgroups(request: pytest.FixtureRequest, tmp_path: Path) -> CgroupReader:
    """A cgroup `/a` with more inactive cache than usage."""
    files = FileDescriptorCache(0)
    if request.param == "v2":
        return CgroupV2(plant(tmp_path, {"a": v2(10, inactive=50)}), files)
    memory = {"memory.usage_in_bytes": "10\n", "memory.stat": "total_inactive_file 50\n"}
    return CgroupV1(plant(tmp_path, {"memory": {"a": memory}}), files)


def test_more_inactive_cache_than_usage_is_a_working_set_of_zero(cgroups: CgroupReader) -> None:
    assert cgroups.memory_usage("/a") == (10, 0)
    assert cgroups.memory("/a")[:2] == (10, 0)


def test_whether_a_cgroup_exists(cgroups: CgroupReader) -> None:
    assert cgroups.exists("/a")
    assert not cgroups.exists("/b")
    assert (cgroups.children("/"), cgroups.children("/b")) == (("a",), ())


MIB = 1 << 20


def test_root_pods_and_containers_are_read(tmp_path: Path) -> None:
    cgroups = CgroupV1(plant(tmp_path, v1_node()), FileDescriptorCache(0))
    assert cgroups.memory_usage("/") == (5_000_000_000, 4_000_000_000)
    assert cgroups.memory_usage("/kubepods") == (5000, 4000)
    assert cgroups.limit("/kubepods") == 9000
    assert cgroups.memory_usage("/kubepods/burstable/poda-b") == (100, 80)
    assert cgroups.memory_usage("/kubepods/burstable/poda-b/c1") == (60, 50)
    assert cgroups.pids_current("/kubepods/burstable/poda-b") == 4
    assert cgroups.version == "v1"
    assert cgroups.pressure("/kubepods") == {}


def test_the_cache_of_descendants_counts_not_only_the_cgroups_own(tmp_path: Path) -> None:
    cgroups = CgroupV1(
        plant(tmp_path, {"memory": {"memory.usage_in_bytes": "9\n", "memory.stat": "inactive_file 1\n"}}),
        FileDescriptorCache(0),
    )
    with pytest.raises(NodeError, match="no total_inactive_file"):
        cgroups.memory_usage("/")


def test_pressure_comes_from_the_unified_tree_beside_it(tmp_path: Path) -> None:
    plant(tmp_path, {**v1_node(), "unified": {"kubepods": {"memory.pressure": PSI}}})
    cgroups = CgroupV1(tmp_path, FileDescriptorCache(0), unified=tmp_path / "unified")
    assert cgroups.version == "v1 (hybrid)"
    assert cgroups.pressure("/kubepods")["full"].total_us == 678


def test_a_cgroup_that_is_not_there_has_vanished(tmp_path: Path) -> None:
    cgroups = CgroupV1(plant(tmp_path, v1_node()), FileDescriptorCache(0))
    assert cgroups.exists("/kubepods")
    assert not cgroups.exists("/none")
    for read in (cgroups.usage, cgroups.memory_usage, cgroups.limit, cgroups.pids_current):
        with pytest.raises(VanishedError):
            read("/none")


def test_what_a_cgroup_writes(tmp_path: Path) -> None:
    """The page cache counts: the kernel's writer of dirty pages is not charged to the pod, so blkio has direct writes alone."""
    direct = "8:0 Read 5\n8:0 Write 1000\n8:0 Sync 9\n8:0 Total 1005\n7:1 Write 20\nTotal 1025\n"
    memory = {
        "memory.stat": "cache 1\ntotal_cache 500\ntotal_dirty 30\ntotal_writeback 4\n",
        "memory.kmem.usage_in_bytes": "70\n",
    }
    tree = {"memory": {"a": memory, "b": memory}, "blkio": {"a": {"blkio.throttle.io_service_bytes_recursive": direct}}}
    cgroups = CgroupV1(plant(tmp_path, tree), FileDescriptorCache(0))
    assert cgroups.writes("/a") == (1590, 34)
    assert cgroups.writes("/b") == (570, 34)
    with pytest.raises(VanishedError):
        cgroups.writes("/none")


@pytest.mark.root
@pytest.mark.skipif(bool(real_cgroups.reason_against()), reason=real_cgroups.reason_against() or "possible")
def test_the_kernels_own_files_of_this_machine() -> None:
    if is_unified():
        pytest.skip("this machine has cgroup v2")
    files = FileDescriptorCache()
    cgroups = find_hierarchy(CGROUP_MOUNT, files)
    with real_cgroups.branch() as branch:
        assert cgroups.memory_usage(branch).working_set < MIB
        assert cgroups.limit(branch) == 2**63 - 4096
        assert cgroups.pids_current(branch) == 0
        eater = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        try:
            for controller in ("memory", "pids"):
                (group(controller, branch) / "cgroup.procs").write_text(str(eater.pid))
            assert cgroups.pids_current(branch) == 1
        finally:
            eater.kill()
            eater.communicate()
        assert cgroups.pids_current(branch) == 0
    with pytest.raises(VanishedError):
        cgroups.usage(branch)
    files.close()


@pytest.mark.root
@pytest.mark.skipif(bool(real_cgroups.reason_against()), reason=real_cgroups.reason_against() or "possible")
def test_the_pod_that_writes_is_found_by_the_kernels_own_files(tmp_path: Path) -> None:
    """Bytes, and files without any; beside a pod that only computes."""
    with real_cgroups.branch() as writer, real_cgroups.branch() as maker, real_cgroups.branch() as idle:
        files = FileDescriptorCache()
        writers = Writers(find_hierarchy(CGROUP_MOUNT, files))
        paths = {"writer": [writer], "maker": [maker], "idle": [idle, "/none"]}
        assert writers.find(paths) == frozenset()
        inside(writer, f"open('{tmp_path}/file', 'wb').write(bytes(64 << 20))")
        assert writers.find(paths) == {"writer"}
        inside(maker, f"import os; [os.mknod(f'{tmp_path}/{{each}}') for each in range(20000)]")
        assert writers.find(paths) >= {"maker"}
        inside(idle, "sum(range(1000))")
        assert "idle" not in writers.find(paths)
        files.close()


def inside(branch: str, program: str) -> None:
    """Run a Python program in a cgroup."""
    for tree in trees():
        if (folder := tree / branch.lstrip("/") / "cgroup.procs").exists():
            program = f"open('{folder}', 'w').write('0')\n{program}"
    subprocess.run([sys.executable, "-c", program], check=True)


def reader(base: Path, tree: Tree) -> CgroupV2:
    return CgroupV2(plant(base, tree), FileDescriptorCache(0))


@pytest.mark.parametrize("driver", Driver)
def test_pods_and_containers_are_read_under_both_drivers(tmp_path: Path, driver: Driver) -> None:
    cgroups = reader(tmp_path, v2_node(systemd=driver is Driver.SYSTEMD))
    pods = pods_cgroup(driver)
    pod = pod_cgroup(pods, "a-b", "burstable")
    assert cgroups.memory_usage(pods) == (5000, 4000)
    assert cgroups.limit(pods) == 9000
    assert cgroups.memory_usage(pod) == (100, 80)
    assert cgroups.pids_current(pod) == 4
    assert cgroups.limit(pod) is None
    assert cgroups.pressure(pod)["some"].total_us == 12345


def test_the_root_without_memory_current_is_anon_and_file(tmp_path: Path) -> None:
    cgroups = reader(tmp_path, v2(anon=300, file=200, inactive=150))
    assert cgroups.usage("/") == 500
    assert cgroups.memory_usage("/") == (500, 350)


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
        cgroups.memory_usage("/a")


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

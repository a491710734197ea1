"""Every signal on real cgroup v2 files, against the documented shell computations, `df` and `df -i`."""

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from evictd.core.model.config import MemoryFormula, Policy
from evictd.core.model.observation import Filesystems
from evictd.core.model.resources import QOSClass
from evictd.core.model.stats import FsStats
from evictd.observe.cgroups import cgroup, process
from evictd.observe.cgroups.cgroup import CgroupDriver
from evictd.observe.cgroups.cgroup_reader import CgroupReader
from evictd.observe.cgroups.file_descriptor_cache import FileDescriptorCache
from evictd.observe.cgroups.memory import NodeMemoryReader
from evictd.observe.filesystems.filesystem import FilesystemReader
from evictd.observe.filesystems.layout import LayoutReader
from evictd.observe.filesystems.mounts import MountTable
from evictd.observe.reading.problems import Problems
from evictd.observe.reading.roots import Roots
from tests.vm.guest import shell
from tests.vm.guest.figures import figure
from tests.vm.guest.node import KUBELET_ROOT, PODS_CGROUP, Node, pod_cgroup
from tests.vm.guest.waiting import wait_for
from tests.vm.guest.workload import Workload

pytestmark = pytest.mark.vm

MIB = 1 << 20
DRIFT = 8 * MIB
"""What a machine of 2 GiB moves between two readings that are a process start apart."""
ROOTS = Roots()
CONTAINERD_ROOT = Path("/var/lib/containerd")


@pytest.fixture
def files() -> Iterator[FileDescriptorCache]:
    kept = FileDescriptorCache()
    yield kept
    kept.close()


@pytest.fixture
def hierarchy(files: FileDescriptorCache) -> CgroupReader:
    return cgroup.find_hierarchy(ROOTS.cgroup, files)


def test_the_hierarchy_is_v2_and_its_root_has_no_memory_current(hierarchy: CgroupReader) -> None:
    assert hierarchy.version == "v2"
    assert not (ROOTS.cgroup / "memory.current").exists()


def test_the_pods_cgroup_is_the_systemd_drivers(hierarchy: CgroupReader, workload: Workload) -> None:
    assert cgroup.find_pods_cgroup(hierarchy) == cgroup.pods_cgroup(CgroupDriver.SYSTEMD) == "/kubepods.slice"


def test_memory_available_is_the_documented_computation(files: FileDescriptorCache, hierarchy: CgroupReader) -> None:
    memory, problems = NodeMemoryReader(ROOTS, hierarchy, files, formula=MemoryFormula.WORKING_SET), Problems()

    def close() -> bool:
        before = shell.memory_available()
        stats = memory.stats(memory.node("/", problems), 1, problems)
        after = shell.memory_available()
        assert stats is not None
        assert stats.available_bytes is not None
        figure(f"memory.available: evictd {stats.available_bytes:,}, shell {before:,} before and {after:,} after")
        low, high = sorted((before, after))
        return low - DRIFT <= stats.available_bytes <= high + DRIFT

    wait_for(close, 120, "evictd and the shell to agree on memory.available")
    assert problems.found() == ()


def test_both_formulas_are_published(files: FileDescriptorCache, hierarchy: CgroupReader) -> None:
    memory, problems = NodeMemoryReader(ROOTS, hierarchy, files, formula=MemoryFormula.MEM_AVAILABLE), Problems()
    reading = memory.node("/", problems)
    stats, gauges = memory.stats(reading, 1, problems), memory.gauges(reading, "/kubepods.slice", problems)
    assert stats is not None
    assert stats.available_bytes == gauges.mem_available_bytes == reading.meminfo["MemAvailable"]
    assert gauges.working_set_available_bytes is not None
    assert abs(gauges.working_set_available_bytes - shell.memory_available()) < DRIFT
    assert memory.swap(reading, 1) is None


def test_pressure_of_node_and_pods_equals_the_files(
    files: FileDescriptorCache, hierarchy: CgroupReader, workload: Workload
) -> None:
    problems = Problems()
    memory = NodeMemoryReader(ROOTS, hierarchy, files, formula=MemoryFormula.WORKING_SET)
    gauges = memory.gauges(memory.node("/", problems), "/kubepods.slice", problems)
    for found, path in (
        (gauges.pressure_some, Path("/proc/pressure/memory")),
        (gauges.pods_pressure_some, PODS_CGROUP / "memory.pressure"),
    ):
        assert found is not None
        total = int(path.read_text().splitlines()[0].partition("total=")[2])
        assert 0 <= total - found.total_us < 5_000_000
    assert problems.found() == ()


@pytest.mark.parametrize("qos", list(QOSClass))
def test_a_pods_working_set_and_tasks(hierarchy: CgroupReader, workload: Workload, qos: QOSClass) -> None:
    folder = pod_cgroup(workload[qos])
    path = "/" + str(folder.relative_to(ROOTS.cgroup))
    usage, working_set = hierarchy.memory_usage(path)
    assert working_set >= 8 * MIB
    assert working_set <= usage
    assert abs(working_set - shell.working_set(folder)) < MIB
    assert hierarchy.pids_current(path) == int((folder / "pids.current").read_text()) >= 2


def test_the_working_set_of_all_pods(files: FileDescriptorCache, hierarchy: CgroupReader, workload: Workload) -> None:
    memory, problems = NodeMemoryReader(ROOTS, hierarchy, files, formula=MemoryFormula.WORKING_SET), Problems()
    found = memory.pods("/kubepods.slice", 1, problems)
    assert found is not None
    assert found.working_set_bytes is not None
    assert abs(found.working_set_bytes - shell.working_set(PODS_CGROUP)) < MIB
    assert found.available_bytes is None  # kubepods.slice has no limit here


def test_allocatable_memory_appears_with_the_limit_of_the_pods_cgroup(
    files: FileDescriptorCache, hierarchy: CgroupReader, workload: Workload
) -> None:
    memory, problems = NodeMemoryReader(ROOTS, hierarchy, files, formula=MemoryFormula.WORKING_SET), Problems()
    (PODS_CGROUP / "memory.max").write_text(str(1024 * MIB))
    try:
        found = memory.pods("/kubepods.slice", 1, problems)
    finally:
        (PODS_CGROUP / "memory.max").write_text("max")
    assert found is not None
    assert found.available_bytes is not None
    assert found.working_set_bytes is not None
    assert found.available_bytes + found.working_set_bytes == 1024 * MIB


def test_pids_are_the_kernels(files: FileDescriptorCache) -> None:
    problems = Problems()
    found = process.rlimit(ROOTS, files, 1, problems)
    limits = [int(Path(f"/proc/sys/kernel/{name}").read_text()) for name in ("pid_max", "threads-max")]
    assert found.max_pid == min(limits)
    tasks = sum(len(list(path.iterdir())) for path in Path("/proc").glob("[0-9]*/task"))
    assert found.current is not None
    assert abs(found.current - tasks) < 20
    assert problems.found() == ()


@contextmanager
def layout_reader(kubelet_dir: Path) -> Iterator[LayoutReader]:
    mounts, reader = MountTable(ROOTS.proc), FilesystemReader()
    try:
        yield LayoutReader(kubelet_dir, mounts, reader, policy=Policy.STANDARD)
    finally:
        reader.close()
        mounts.close()


def check_against_df(found: FsStats | None, path: Path) -> None:
    assert found is not None
    bytes_left, inodes = shell.df(path), shell.df(path, inodes=True)
    figure(f"{path}: available evictd {found.available_bytes:,}, df {bytes_left.available:,}")
    assert found.capacity_bytes == bytes_left.total
    assert found.available_bytes is not None
    assert found.inodes_free is not None
    assert abs(found.available_bytes - bytes_left.available) < MIB
    assert found.inodes == inodes.total
    assert abs(found.inodes_free - inodes.available) < 20


def test_nodefs_and_imagefs_equal_df_on_one_filesystem(machine: Node, workload: Workload) -> None:
    problems = Problems()
    with layout_reader(KUBELET_ROOT) as reader:
        readings = reader.read(machine.client.image_fs_info(), 1, problems)
    assert problems.found() == ()
    assert readings.layout == Filesystems(dedicated_image_fs=False, split_container_fs=False)
    check_against_df(readings.node, KUBELET_ROOT)
    check_against_df(readings.image, CONTAINERD_ROOT)


@pytest.fixture
def on_root_disk() -> Iterator[Path]:
    """A folder on the filesystem of the images; /tmp is in memory from Debian 13 on."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        yield Path(folder)


def test_a_mount_below_the_kubelets_folder_makes_imagefs_dedicated_at_once(machine: Node, on_root_disk: Path) -> None:
    info, problems = machine.client.image_fs_info(), Problems()
    with layout_reader(on_root_disk) as reader:
        assert not reader.read(info, 1, problems).layout.dedicated_image_fs
        options = "size=64m,nr_inodes=1000"
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", on_root_disk], check=True)
        try:
            readings = reader.read(info, 2, problems)
            assert readings.layout == Filesystems(dedicated_image_fs=True, split_container_fs=False)
            check_against_df(readings.node, on_root_disk)
        finally:
            subprocess.run(["umount", "--lazy", on_root_disk], check=True)
    assert problems.found() == ()

"""Capacities are read below a given root; unreadable ones are left out."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from evictd.config.settings import Settings
from evictd.core.model.observation import Filesystems
from evictd.core.model.signal import Signal
from evictd.core.units.quantity import of_bytes, of_count
from evictd.observe.node_capacity import (
    below,
    container_fs_capacities,
    image_store,
    read_amounts,
    read_low_watermark,
    read_unusable_pids,
)
from tests.settings import settings_with
from tests.trees import MEMINFO, MOUNTINFO, PROC, plant, v2_node


def node(root: Path, *, meminfo: str = MEMINFO, mountinfo: str = MOUNTINFO) -> Path:
    """Make the files of a node: its /proc and its cgroups."""
    limits = {"pid_max": "4194304\n", "threads-max": "1000\n"}
    proc = {**PROC, "meminfo": meminfo, "self": {"mountinfo": mountinfo}, "sys": {"kernel": limits}}
    return plant(root, {"proc": proc, "sys": {"fs": {"cgroup": v2_node(systemd=True)}}})


def test_memory_and_pids_come_from_proc(tmp_path: Path) -> None:
    capacities = read_amounts(Settings(), node(tmp_path)).capacities
    assert capacities[Signal.MEMORY_AVAILABLE] == of_bytes(16_000_000 * 1024)
    assert capacities[Signal.SWAP_AVAILABLE] == of_bytes(2_000_000 * 1024)
    assert capacities[Signal.PID_AVAILABLE] == of_count(1000)


def test_the_pods_have_what_is_not_reserved(tmp_path: Path) -> None:
    root = node(tmp_path)
    half = {"memory": "8000000Ki"}
    capacities = read_amounts(settings_with(kube_reserved=half), root).capacities
    assert capacities[Signal.ALLOCATABLE_MEMORY_AVAILABLE] == of_bytes(8_000_000 * 1024)
    too_much = read_amounts(settings_with(kube_reserved=half, system_reserved={"memory": "16Gi"}), root).capacities
    assert too_much[Signal.ALLOCATABLE_MEMORY_AVAILABLE] == of_bytes(0)


def test_filesystems_are_asked_where_they_would_lie(tmp_path: Path) -> None:
    stat = os.statvfs(tmp_path)
    capacities = read_amounts(Settings(), node(tmp_path)).capacities
    assert capacities[Signal.NODEFS_AVAILABLE] == of_bytes(stat.f_frsize * stat.f_blocks)
    assert capacities[Signal.IMAGEFS_AVAILABLE] == capacities[Signal.NODEFS_AVAILABLE]


def test_an_unreadable_node_has_no_memory(tmp_path: Path) -> None:
    amounts = read_amounts(Settings(), node(tmp_path, meminfo="MemTotal: much\n"))
    assert not {Signal.MEMORY_AVAILABLE, Signal.SWAP_AVAILABLE} & amounts.capacities.keys()
    assert amounts.unallocatable_bytes is None
    assert read_low_watermark(tmp_path) is None


def test_nothing_above_the_root_is_ever_asked(tmp_path: Path) -> None:
    amounts = read_amounts(Settings(), tmp_path / "none")
    assert amounts.capacities == {}
    assert str(tmp_path / "none") in amounts.problem


def test_the_low_watermark_is_in_bytes(tmp_path: Path) -> None:
    plant(tmp_path, {"proc": {"zoneinfo": "Node 0, zone Normal\n        low      10\n"}})
    assert read_low_watermark(tmp_path) == 10 * os.sysconf("SC_PAGE_SIZE")


def test_the_image_store_follows_the_runtime(tmp_path: Path) -> None:
    assert image_store(Settings(), tmp_path) is None
    for store in ("var/lib/containerd", "var/lib/containers/storage"):
        (tmp_path / store).mkdir(parents=True)
    assert image_store(Settings(), tmp_path) == tmp_path / "var/lib/containerd"
    crio = settings_with(image_service_endpoint="unix:///var/run/crio/crio.sock")
    assert image_store(crio, tmp_path) == tmp_path / "var/lib/containers/storage"


def test_an_image_store_that_may_not_be_looked_for_counts_as_absent(tmp_path: Path) -> None:
    """Where CRI-O or podman is installed it is root's alone: `evictd check` of another user ended with exit status 3."""
    (tmp_path / "var/lib/containers/storage").mkdir(parents=True)
    (tmp_path / "var/lib/containers").chmod(0)
    may_look = os.geteuid() == 0
    assert (image_store(Settings(), tmp_path) is not None) is may_look
    assert image_store(Settings(), tmp_path / ("a" * 300)) is None  # cannot be looked for by root either
    (tmp_path / "var/lib/containers").chmod(0o700)


def test_one_device_is_no_dedicated_filesystem(tmp_path: Path) -> None:
    (tmp_path / "var/lib/containerd").mkdir(parents=True)
    assert read_amounts(Settings(), node(tmp_path)).filesystems == Filesystems()


def test_a_device_is_what_the_daemon_takes_for_one(tmp_path: Path) -> None:
    """Subvolumes of btrfs have device numbers of their own, and are one filesystem; the mount above them tells."""
    plant(tmp_path, {"var": {"lib": {"containerd": {}, "kubelet": {}}}})
    images = f"28 27 9:98 / {tmp_path}/var/lib/containerd rw - btrfs /dev/vdb rw\n"
    seen = read_amounts(Settings(), node(tmp_path, mountinfo="27 1 9:99 / / rw - btrfs /dev/vda rw\n" + images))
    assert seen.filesystems.dedicated_image_fs is True


def test_containerfs_is_as_large_as_what_it_lies_on() -> None:
    capacities = {Signal.NODEFS_AVAILABLE: of_bytes(1), Signal.IMAGEFS_AVAILABLE: of_bytes(2)}
    dedicated = Filesystems(dedicated_image_fs=True)
    assert container_fs_capacities(capacities, dedicated) == {Signal.CONTAINERFS_AVAILABLE: of_bytes(2)}
    assert container_fs_capacities(capacities, Filesystems()) == {Signal.CONTAINERFS_AVAILABLE: of_bytes(1)}


def test_paths_of_the_node_are_seen_below_the_root() -> None:
    assert below(Path("/host"), Path("/var/lib")) == Path("/host/var/lib")
    assert below(Path("/host"), Path("x")) == Path("/host/x")


def a_proc(root: Path, *, pid_max: int, threads_max: int, tasks: dict[int, tuple[int, ...]]) -> Path:
    limits = root / "proc/sys/kernel"
    limits.mkdir(parents=True)
    (limits / "pid_max").write_text(f"{pid_max}\n")
    (limits / "threads-max").write_text(f"{threads_max}\n")
    for pid, threads in tasks.items():
        for thread in threads:
            (root / f"proc/{pid}/task/{thread}").mkdir(parents=True)
    return root


def test_pids_below_the_reserve_are_usable_only_by_the_tasks_that_have_them(tmp_path: Path) -> None:
    tasks = {1: (1,), 2: (2,), 250: (250, 251, 900), 400: (400,)}
    assert read_unusable_pids(a_proc(tmp_path, pid_max=32768, threads_max=192730, tasks=tasks)) == 300 - 4


def test_a_limit_on_threads_can_be_used_up(tmp_path: Path) -> None:
    assert read_unusable_pids(a_proc(tmp_path, pid_max=32768, threads_max=5000, tasks={1: (1,)})) is None


def test_a_proc_without_limits_or_processes_has_no_known_reserve(tmp_path: Path) -> None:
    assert read_unusable_pids(tmp_path) is None
    assert read_unusable_pids(a_proc(tmp_path, pid_max=1000, threads_max=5000, tasks={})) is None


WRAP = """
import os
last = int(open("/proc/sys/kernel/pid_max").read())
with open("/proc/sys/kernel/ns_last_pid", "w") as file:
    file.write(str(last - 2))
for _ in range(2):
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    print(pid - last if pid > 1000 else pid)
"""


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_this_kernel_goes_on_at_its_reserve_after_the_last_pid() -> None:
    """In a new PID namespace, where the last PID can be set."""
    argv = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable, "-c", WRAP]
    given = subprocess.run(argv, check=True, capture_output=True, text=True, timeout=60).stdout.split()
    assert given == ["-1", "300"]

"""How much there is of everything is read below a root that is handed in; what cannot be read is left out."""

import os
from pathlib import Path

from evictd.config.settings import Settings
from evictd.core.observation import Filesystems
from evictd.core.quantity import of_bytes, of_count, parse_quantity
from evictd.core.signal import Signal
from evictd.offline.node_capacity import (
    below,
    container_fs_capacities,
    dedicated_image_fs,
    image_store,
    read_capacities,
    read_low_watermark,
)


def tree(root: Path, **files: str) -> Path:
    for name, text in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_memory_and_pids_come_from_proc(tmp_path: Path) -> None:
    root = tree(
        tmp_path,
        proc__meminfo="MemTotal:        1024 kB\nMemFree: 1 kB\n",
        proc__sys__kernel__pid_max="4194304\n",
    )
    (root / "proc/sys/kernel/threads-max").write_text("1000\n")
    capacities = read_capacities(Settings(), root)
    assert capacities[Signal.MEMORY_AVAILABLE] == of_bytes(2**20)
    assert capacities[Signal.PID_AVAILABLE] == of_count(1000)


def test_the_pods_have_what_is_not_reserved(tmp_path: Path) -> None:
    root = tree(tmp_path, proc__meminfo="MemTotal:        1024 kB\n")
    half = {"memory": parse_quantity("512Ki")}
    capacities = read_capacities(Settings(kube_reserved=half), root)
    assert capacities[Signal.ALLOCATABLE_MEMORY_AVAILABLE] == of_bytes(2**19)
    too_much = read_capacities(Settings(kube_reserved=half, system_reserved={"memory": parse_quantity("1Gi")}), root)
    assert too_much[Signal.ALLOCATABLE_MEMORY_AVAILABLE] == of_bytes(0)


def test_filesystems_are_asked_where_they_would_lie(tmp_path: Path) -> None:
    stat = os.statvfs(tmp_path)
    capacities = read_capacities(Settings(), tmp_path)
    assert capacities[Signal.NODEFS_AVAILABLE] == of_bytes(stat.f_frsize * stat.f_blocks)
    assert capacities[Signal.IMAGEFS_AVAILABLE] == capacities[Signal.NODEFS_AVAILABLE]


def test_an_unreadable_node_has_no_memory_and_no_pids(tmp_path: Path) -> None:
    capacities = read_capacities(Settings(), tree(tmp_path, proc__meminfo="MemTotal: much\n"))
    assert Signal.MEMORY_AVAILABLE not in capacities
    assert Signal.PID_AVAILABLE not in capacities
    assert read_low_watermark(tmp_path) is None


def test_nothing_above_the_root_is_ever_asked(tmp_path: Path) -> None:
    assert read_capacities(Settings(), tmp_path / "none") == {}


def test_the_low_watermark_is_in_bytes(tmp_path: Path) -> None:
    root = tree(tmp_path, proc__zoneinfo="Node 0, zone Normal\n        low      10\n")
    assert read_low_watermark(root) == 10 * os.sysconf("SC_PAGE_SIZE")


def test_the_image_store_follows_the_runtime(tmp_path: Path) -> None:
    assert image_store(Settings(), tmp_path) is None
    for store in ("var/lib/containerd", "var/lib/containers/storage"):
        (tmp_path / store).mkdir(parents=True)
    assert image_store(Settings(), tmp_path) == tmp_path / "var/lib/containerd"
    crio = Settings(image_service_endpoint="unix:///var/run/crio/crio.sock")
    assert image_store(crio, tmp_path) == tmp_path / "var/lib/containers/storage"


def test_one_device_is_no_dedicated_filesystem(tmp_path: Path) -> None:
    (tmp_path / "var/lib/containerd").mkdir(parents=True)
    assert dedicated_image_fs(Settings(), tmp_path) is False


def test_containerfs_is_as_large_as_what_it_lies_on() -> None:
    capacities = {Signal.NODEFS_AVAILABLE: of_bytes(1), Signal.IMAGEFS_AVAILABLE: of_bytes(2)}
    dedicated = Filesystems(dedicated_image_fs=True)
    assert container_fs_capacities(capacities, dedicated) == {Signal.CONTAINERFS_AVAILABLE: of_bytes(2)}
    assert container_fs_capacities(capacities, Filesystems()) == {Signal.CONTAINERFS_AVAILABLE: of_bytes(1)}


def test_paths_of_the_node_are_seen_below_the_root() -> None:
    assert below(Path("/host"), Path("/var/lib")) == Path("/host/var/lib")
    assert below(Path("/host"), Path("x")) == Path("/host/x")

"""Puts a real node under pressure with something that is no pod's: a file, many files, memory or threads of the test itself."""

import mmap
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from tests.cluster.node import RealNode
from tests.cluster.side_by_side import MI, summary

NODEFS, IMAGEFS = "/var/lib/kubelet", "/var/lib/containerd"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pressure:
    """What a signal measures on this node, and how the test takes it; amounts in the signal's unit."""

    available: Callable[[RealNode], int]
    taken: Callable[[RealNode, int], AbstractContextManager[None]]
    margin: int
    """What is left above the threshold when the pods have all that they take."""
    apart: int
    """By how much two looks may differ: both daemons look at moments of their own."""
    gradual: bool = False
    """It is taken bit by bit, and evictd may look as soon as the threshold is crossed."""


@contextmanager
def _file(node: RealNode, place: str, amount: int) -> Iterator[None]:
    path = node.path(f"{place}/ballast")
    try:
        with path.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, amount)
        yield
    finally:
        path.unlink(missing_ok=True)


@contextmanager
def _files(node: RealNode, amount: int) -> Iterator[None]:
    folder = node.path(f"{NODEFS}/ballast")
    folder.mkdir()
    try:
        for number in range(amount):
            (folder / str(number)).touch()
        yield
    finally:
        shutil.rmtree(folder)


@contextmanager
def _memory(_: RealNode, amount: int) -> Iterator[None]:
    with mmap.mmap(-1, amount, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE):
        yield


@contextmanager
def _threads(_: RealNode, amount: int) -> Iterator[None]:
    over = threading.Event()
    before = threading.stack_size(256 << 10)
    threads = [threading.Thread(target=over.wait, daemon=True) for _ in range(amount)]
    try:
        for thread in threads:
            thread.start()
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()
        threading.stack_size(before)


def _free(node: RealNode, place: str) -> int:
    found = os.statvfs(node.path(place))
    return found.f_bavail * found.f_frsize


def _free_pids(node: RealNode) -> int:
    found = summary(node)["node"]["rlimit"]
    return int(found["maxpid"]) - int(found["curproc"])


PRESSURES = {
    # The node writes its own logs and databases in between.
    "nodefs.available": Pressure(
        available=lambda node: _free(node, NODEFS),
        taken=lambda node, amount: _file(node, NODEFS, amount),
        margin=200 * MI,
        apart=MI,
    ),
    "imagefs.available": Pressure(
        available=lambda node: _free(node, IMAGEFS),
        taken=lambda node, amount: _file(node, IMAGEFS, amount),
        margin=200 * MI,
        apart=MI,
    ),
    "nodefs.inodesFree": Pressure(
        available=lambda node: os.statvfs(node.path(NODEFS)).f_favail, taken=_files, margin=3000, apart=20, gradual=True
    ),
    # The whole machine's, on which other programs run.
    "memory.available": Pressure(
        available=lambda node: int(summary(node)["node"]["memory"]["availableBytes"]),
        taken=_memory,
        margin=500 * MI,
        apart=300 * MI,
        gradual=True,
    ),
    "pid.available": Pressure(available=_free_pids, taken=_threads, margin=500, apart=300, gradual=True),
}


def written(signal: str, amount: int) -> str:
    """Write an amount as a configuration has it."""
    return f"{amount // MI}Mi" if signal.endswith(".available") and signal != "pid.available" else str(amount)

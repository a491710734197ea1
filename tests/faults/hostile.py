"""Makes what each kind of hostile pod brings along in `make soak`: cgroups, files, annotations, connections."""

import multiprocessing
import multiprocessing.synchronize
import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from tests.faults.node_double import FakeNode, FakePod
from tests.kube.store import Json

DEPTH, WIDTH, FILES = 200, 500, 300
VOLUME, KEPT = "volumes/kubernetes.io~empty-dir/data", "7"
WITH_VOLUME = ("files", "immutable")
STUCK_SECONDS = 6.0
FLOOD_PAUSE_SECONDS = 0.005
"""Between two connections of the flood: some 200 a second, five times as many as evictd serves."""


def _deep(node: FakeNode, pod: FakePod) -> None:
    """Plant a chain of `DEPTH` cgroups below the pod's."""
    _cgroup(node.cgroup(pod.key).joinpath(*["d"] * DEPTH))


def _wide(node: FakeNode, pod: FakePod) -> None:
    """Plant `WIDTH` child cgroups."""
    for number in range(WIDTH):
        _cgroup(node.cgroup(pod.key) / f"w{number}")


def _frozen(node: FakeNode, pod: FakePod) -> None:
    """Let the pod's container look as after a write of 1 to its cgroup.freeze, by a privileged pod."""
    container = node.cgroup(pod.key) / f"c-{pod.key}"
    (container / "cgroup.freeze").write_text("1\n")
    (container / "cgroup.events").write_text("populated 1\nfrozen 1\n")


def _files(node: FakeNode, pod: FakePod) -> None:
    """Fill an emptyDir with directories that have the longest names, a file without rights and a link out of it."""
    volume = _pod_folder(node, pod) / VOLUME
    volume.mkdir(parents=True)
    for number in range(FILES):
        (volume / f"{number:0255}").mkdir()
    (volume / "unreadable").touch(mode=0)
    (volume / "out").symlink_to("/")


def _immutable(node: FakeNode, pod: FakePod) -> None:
    """Fill an emptyDir with files of which one can not be removed (CAP_LINUX_IMMUTABLE), where the disk knows that flag."""
    volume = _pod_folder(node, pod) / VOLUME
    volume.mkdir(parents=True)
    for number in range(FILES):
        (volume / f"{number}").touch()
    _chattr("+i", volume / KEPT)


def _chattr(flag: str, path: Path) -> None:
    subprocess.run(["chattr", flag, path], check=False, capture_output=True)


ANNOTATIONS = {
    "annotated": {"\x1b[2J": "\u202e", "a" * 300: "x" * 200_000},
    "static": {"kubernetes.io/config.source": "file"},
}
"""What a pod of a kind has among its annotations: 200 KB and control characters, or the claim to be a static pod."""
PLANTED: dict[str, Callable[[FakeNode, FakePod], None]] = {
    "deep": _deep,
    "wide": _wide,
    "frozen": _frozen,
    "files": _files,
    "immutable": _immutable,
}
"""What a pod of a kind makes on its node once it runs."""
HOSTILE = (*ANNOTATIONS, *PLANTED, "stuck")
"""The kinds. The processes of a stuck pod outlive the stop by `STUCK_SECONDS` (state D)."""


def add_volumes(kind: str, made: Json) -> None:
    """Name the volume of a pod of a kind that has one in its object."""
    if kind in WITH_VOLUME:
        made["spec"]["volumes"] = [{"name": "data", "emptyDir": {}}]


def remove_files(node: FakeNode, pod: FakePod) -> None:
    """Remove the pod's folder, as its node does in the end."""
    _chattr("-i", _pod_folder(node, pod) / VOLUME / KEPT)
    shutil.rmtree(_pod_folder(node, pod), ignore_errors=True)


def _pod_folder(node: FakeNode, pod: FakePod) -> Path:
    return node.folder / "kubelet/pods" / pod.uid


def _cgroup(path: Path) -> None:
    path.mkdir(parents=True)
    while not (path / "cgroup.procs").exists():
        (path / "cgroup.procs").touch()
        path = path.parent


@contextmanager
def _process(target: Callable[..., None], argument: Path | int) -> Iterator[None]:
    """Run `target(argument, ended)` in another process until the end of the context, which sets `ended`."""
    spawn = multiprocessing.get_context("spawn")
    ended = spawn.Event()
    process = spawn.Process(target=target, args=(argument, ended))
    process.start()
    try:
        yield
    finally:
        ended.set()
        process.join()


def immutable_files_cleared(folder: Path) -> AbstractContextManager[None]:
    """Make every file below the node's folder removable in the end, by another process where this one is killed."""
    return _process(_clear_when_orphaned, folder)


def _clear_when_orphaned(folder: Path, ended: multiprocessing.synchronize.Event) -> None:
    os.setpgrp()  # a signal to the group of `make soak` does not end it
    parent = os.getppid()
    while not ended.wait(0.2) and os.getppid() == parent:
        pass
    for path in folder.glob(f"kubelet/pods/*/{VOLUME}/{KEPT}"):
        _chattr("-i", path)


def flooded(port: int) -> AbstractContextManager[None]:
    """Let another process connect to this port of loopback without end."""
    return _process(_flood, port)


def _flood(port: int, ended: multiprocessing.synchronize.Event) -> None:
    parent = os.getppid()
    while not ended.wait(FLOOD_PAUSE_SECONDS) and os.getppid() == parent:  # it may be killed
        with socket.socket() as client, suppress(OSError):
            client.settimeout(1)
            client.bind(("127.0.0.2", 0))
            client.connect(("127.0.0.1", port))
            client.send(b"GET /healthz HTTP/1.0\r\n\r\n")

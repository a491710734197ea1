"""Finds programs that only tests need: newer containerds and mkfs.xfs."""

import os
from pathlib import Path

from evictd.errors import NodeError
from evictd_testnode.binaries import SYSTEM_PATH, Binaries, Tool, find_binaries, unpack_packages, which
from evictd_testnode.tool import run_tool

RUNTIME = "EVICTD_RUNTIME"
"""The runtime of `make test-node RUNTIME=...`: with `containerd2` the nodes run containerd 2.1, else the usual one."""
NEWER_SUITE = "trixie"
"""The Debian release with containerd 1.7, the first version with pinned images."""
CONTAINERD2_SUITE = "forky"
"""The Debian release with containerd 2.1."""

_XFS_PACKAGES = ("xfsprogs", "libinih1", "liburcu8")


def node_binaries(cache: Path, runtime: str | None = None) -> Binaries:
    """Find the programs of the nodes of this run (`RUNTIME`); raises `NodeError` if they are unavailable."""
    usual = find_binaries(cache)
    chosen = os.environ.get(RUNTIME) if runtime is None else runtime
    return _containerd_of(cache, CONTAINERD2_SUITE, usual) if chosen == "containerd2" else usual


def find_newer_binaries(cache: Path) -> Binaries | None:
    """Find the next Debian release's containerd, with this release's runc; `None` if it is unavailable."""
    usual = find_binaries(cache)
    try:
        return _containerd_of(cache, NEWER_SUITE, usual)
    except NodeError:
        return None


def _containerd_of(cache: Path, suite: str, usual: Binaries) -> Binaries:
    root = unpack_packages(cache, f"runtime-{suite}", ("containerd",), suite=suite)
    run_tool(root / "usr/bin/containerd", "--version")  # fails if it needs a newer libc
    return Binaries(containerd=root / "usr/bin/containerd", runc=usual.runc, busybox=usual.busybox)


def find_mkfs_xfs(cache: Path) -> Tool:
    """Find or unpack mkfs.xfs; raises `NodeError` if it is unavailable."""
    found = which("mkfs.xfs")
    if found is not None:
        return Tool(path=found)
    root = unpack_packages(cache, "xfs", _XFS_PACKAGES)
    libraries = {path.parent for path in root.rglob("*.so.*")}
    path = root / "sbin/mkfs.xfs"
    environment = {"LD_LIBRARY_PATH": ":".join(sorted(map(str, libraries))), "PATH": SYSTEM_PATH}
    return Tool(path=path if path.exists() else root / "usr/sbin/mkfs.xfs", environment=environment)

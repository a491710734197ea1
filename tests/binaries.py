"""Finds programs that only tests need: a newer containerd and mkfs.xfs."""

from pathlib import Path

from evictd.errors import NodeError
from evictd_testnode.binaries import SYSTEM_PATH, Binaries, Tool, find_binaries, unpack_packages, which
from evictd_testnode.tool import run_tool

NEWER_SUITE = "trixie"
"""The Debian release with containerd 1.7, the first version with pinned images."""

_XFS_PACKAGES = ("xfsprogs", "libinih1", "liburcu8")


def find_newer_binaries(cache: Path) -> Binaries | None:
    """Find the next Debian release's containerd, with this release's runc; `None` if it is unavailable."""
    usual = find_binaries(cache)
    try:
        root = unpack_packages(cache, f"runtime-{NEWER_SUITE}", ("containerd",), suite=NEWER_SUITE)
        run_tool(root / "usr/bin/containerd", "--version")  # fails if it needs a newer libc
    except NodeError:
        return None
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

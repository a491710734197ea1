"""Where containerd, runc, busybox and mkfs.xfs come from: the system if it has them, else Debian's packages.

Packages are downloaded by `apt-get download` and unpacked into a folder; nothing is installed and no service is
started. A newer containerd of the next Debian release can be had the same way, through an apt configuration of its
own.
"""

import fcntl
import os
import platform
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp

from evictd.demo.tool import run_tool
from evictd.errors import NodeError

NEWER_SUITE = "trixie"
"""The Debian release whose containerd is 1.7: `pinned` and container events exist from there on."""

_RUNTIME_PACKAGES = ("containerd", "runc", "busybox-static")
_XFS_PACKAGES = ("xfsprogs", "libinih1", "liburcu8")
_SHIM = "containerd-shim-runc-v2"
_SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A program and the environment it needs."""

    path: Path
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Binaries:
    """What a disposable node is made of; `containerd`'s folder also has its shim and `ctr`."""

    containerd: Path
    runc: Path
    busybox: Path

    @property
    def ctr(self) -> Path:
        """The client that comes with containerd; it imports images."""
        return self.containerd.with_name("ctr")


def default_cache() -> Path:
    """Where unpacked packages are kept: `$XDG_CACHE_HOME/evictd`, or `~/.cache/evictd`."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base.startswith("/") else Path.home() / ".cache") / "evictd"


def find_binaries(cache: Path) -> Binaries:
    """Find the system's runtime, or else unpack Debian's below `cache`; raises `NodeError` when neither can be had."""
    found = _system_binaries()
    if found is not None:
        return found
    root = _unpacked(cache, "runtime", _RUNTIME_PACKAGES)
    return Binaries(containerd=root / "usr/bin/containerd", runc=root / "usr/sbin/runc", busybox=root / "bin/busybox")


def find_newer_binaries(cache: Path) -> Binaries | None:
    """Find the next Debian release's containerd, for this one's runc; `None` where it cannot be had."""
    usual = find_binaries(cache)
    try:
        root = _unpacked(cache, f"runtime-{NEWER_SUITE}", ("containerd",), suite=NEWER_SUITE)
        run_tool(root / "usr/bin/containerd", "--version")  # it may want a newer libc
    except NodeError:
        return None
    return Binaries(containerd=root / "usr/bin/containerd", runc=usual.runc, busybox=usual.busybox)


def find_mkfs_xfs(cache: Path) -> Tool:
    """Find or unpack mkfs.xfs; raises `NodeError` when it cannot be had."""
    found = _which("mkfs.xfs")
    if found is not None:
        return Tool(path=found)
    root = _unpacked(cache, "xfs", _XFS_PACKAGES)
    libraries = {path.parent for path in root.rglob("*.so.*")}
    path = root / "sbin/mkfs.xfs"
    environment = {"LD_LIBRARY_PATH": ":".join(sorted(map(str, libraries))), "PATH": _SYSTEM_PATH}
    return Tool(path=path if path.exists() else root / "usr/sbin/mkfs.xfs", environment=environment)


def _system_binaries() -> Binaries | None:
    containerd, runc, busybox = _which("containerd"), _which("runc"), _which("busybox")
    if containerd is None or runc is None or busybox is None:
        return None
    complete = all(containerd.with_name(name).exists() for name in (_SHIM, "ctr"))
    # A dynamically linked busybox would find no library inside its image.
    return (
        Binaries(containerd=containerd, runc=runc, busybox=busybox)
        if complete and b"ld-linux" not in busybox.read_bytes()
        else None
    )


def _which(name: str) -> Path | None:
    found = shutil.which(name, path=_SYSTEM_PATH)
    return Path(found) if found else None


def _unpacked(cache: Path, name: str, packages: tuple[str, ...], *, suite: str = "") -> Path:
    """Give the folder with these packages' files; several processes may ask at once, one of them does the work."""
    target = cache / f"{name}-{platform.machine()}"
    cache.mkdir(parents=True, exist_ok=True)
    with _locked(cache / "lock"):
        if target.is_dir():
            return target
        work = Path(mkdtemp(prefix=f"{name}-", dir=cache))
        try:
            _fetch(work, packages, suite)
            (work / "root").rename(target)
        finally:
            shutil.rmtree(work)
    return target


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _fetch(work: Path, packages: tuple[str, ...], suite: str) -> None:
    environment = {**os.environ, "LC_ALL": "C"}
    if suite:
        environment["APT_CONFIG"] = str(_private_apt(work, suite))
        run_tool("apt-get", "-q", "update", environment=environment)
    download = ("apt-get", "-q", "-o", "APT::Sandbox::User=root", "download", *packages)
    try:
        run_tool(*download, environment=environment, folder=work)
    except NodeError:
        if suite:
            raise
        run_tool("apt-get", "-q", "update", environment=environment)  # a bare machine knows no packages yet
        run_tool(*download, environment=environment, folder=work)
    for package in sorted(work.glob("*.deb")):
        run_tool("dpkg-deb", "-x", package, work / "root")


def debian_mirror() -> str:
    """Give the address of the Debian mirror that the system itself uses; raises `NodeError` if apt knows none."""
    targets = run_tool("apt-get", "indextargets", "--format", "$(REPO_URI) $(COMPONENT)", "Created-By: Packages")
    mirror = next((line.split()[0] for line in targets.splitlines() if line.endswith("/debian/ main")), None)
    if mirror is None:
        raise NodeError("no Debian mirror among apt's sources")
    return mirror


def _private_apt(work: Path, suite: str) -> Path:
    """Write an apt configuration for another suite of the mirror that the system itself uses."""
    mirror = debian_mirror()
    for folder in ("lists/partial", "cache/archives/partial", "parts"):
        (work / folder).mkdir(parents=True)
    keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"
    (work / "sources.list").write_text(f"deb [signed-by={keyring}] {mirror} {suite} main\n", encoding="utf-8")
    config = work / "apt.conf"
    config.write_text(
        f'Dir::State::lists "{work}/lists";\nDir::Cache "{work}/cache";\n'
        f'Dir::Etc::sourcelist "{work}/sources.list";\nDir::Etc::sourceparts "{work}/parts";\n'
        'APT::Sandbox::User "root";\n',
        encoding="utf-8",
    )
    return config

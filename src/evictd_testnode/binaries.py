"""Finds containerd, runc and busybox on the system, or else in Debian's packages.

Packages are downloaded by `apt-get download` and unpacked into a directory; nothing is installed and no service is started.
Those of another Debian release are fetched with a private apt configuration.
"""

import fcntl
import os
import platform
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from tempfile import mkdtemp

from evictd.core.frozen import frozen
from evictd.errors import NodeError
from evictd_testnode.tool import run_tool

_RUNTIME_PACKAGES = ("containerd", "runc", "busybox-static")
_SHIM = "containerd-shim-runc-v2"
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@frozen
class Tool:
    """A program and the environment variables it needs."""

    path: Path
    environment: Mapping[str, str] = field(default_factory=dict)


@frozen
class Binaries:
    """The programs of a disposable node; `containerd`'s directory also holds its shim and `ctr`."""

    containerd: Path
    runc: Path
    busybox: Path

    @property
    def ctr(self) -> Path:
        """Containerd's command-line client, which imports images."""
        return self.containerd.with_name("ctr")


def default_cache() -> Path:
    """Return the directory for unpacked packages: `$XDG_CACHE_HOME/evictd`, or `~/.cache/evictd`."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base.startswith("/") else Path.home() / ".cache") / "evictd"


def find_binaries(cache: Path) -> Binaries:
    """Find the system's runtime, or else unpack Debian's below `cache`; raises `NodeError` if neither is available."""
    found = _system_binaries()
    if found is not None:
        return found
    root = unpack_packages(cache, "runtime", _RUNTIME_PACKAGES)
    return Binaries(containerd=root / "usr/bin/containerd", runc=root / "usr/sbin/runc", busybox=root / "bin/busybox")


def _system_binaries() -> Binaries | None:
    containerd, runc, busybox = which("containerd"), which("runc"), which("busybox")
    if containerd is None or runc is None or busybox is None:
        return None
    complete = all(containerd.with_name(name).exists() for name in (_SHIM, "ctr"))
    # A dynamically linked busybox would find no libraries in its image.
    return (
        Binaries(containerd=containerd, runc=runc, busybox=busybox)
        if complete and b"ld-linux" not in busybox.read_bytes()
        else None
    )


def which(name: str) -> Path | None:
    """Find a program of the system."""
    found = shutil.which(name, path=SYSTEM_PATH)
    return Path(found) if found else None


def unpack_packages(cache: Path, name: str, packages: tuple[str, ...], *, suite: str = "") -> Path:
    """Return the directory with these packages' files; a lock lets one of several processes unpack them."""
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
        run_tool("apt-get", "-q", "update", environment=environment)  # a new machine has no package lists yet
        run_tool(*download, environment=environment, folder=work)
    for package in sorted(work.glob("*.deb")):
        run_tool("dpkg-deb", "-x", package, work / "root")


def _index_targets() -> str:
    return run_tool("apt-get", "indextargets", "--format", "$(REPO_URI) $(COMPONENT)", "Created-By: Packages")


def debian_mirror() -> str:
    """Return the URI of the Debian mirror in apt's configuration; raises `NodeError` if there is none."""
    targets = _index_targets()
    if not targets:
        run_tool("apt-get", "-q", "update")  # apt names those alone whose lists a machine has
        targets = _index_targets()
    mirror = next((line.split()[0] for line in targets.splitlines() if line.endswith("/debian/ main")), None)
    if mirror is None:
        raise NodeError("no Debian mirror among apt's sources")
    return mirror


def _private_apt(work: Path, suite: str) -> Path:
    """Write an apt configuration for another suite of the system's mirror; returns its path.

    It knows no installed packages: apt would ask for their versions where these are newer than the suite's.
    """
    mirror = debian_mirror()
    for folder in ("lists/partial", "cache/archives/partial", "parts"):
        (work / folder).mkdir(parents=True)
    keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"
    (work / "status").touch()
    (work / "sources.list").write_text(f"deb [signed-by={keyring}] {mirror} {suite} main\n", encoding="utf-8")
    config = work / "apt.conf"
    config.write_text(
        f'Dir::State::lists "{work}/lists";\nDir::State::status "{work}/status";\nDir::Cache "{work}/cache";\n'
        f'Dir::Etc::sourcelist "{work}/sources.list";\nDir::Etc::sourceparts "{work}/parts";\n'
        'APT::Sandbox::User "root";\n',
        encoding="utf-8",
    )
    return config

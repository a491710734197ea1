"""Builds the Debian packages that the guest installs: evictd without the client of an API server, and a later version of it.

They are kept in the cache under a hash of what they are made from, and made again when that changes.
"""

import hashlib
import shutil
import subprocess
from functools import partial
from pathlib import Path

from evictd import __version__
from tests.vm import cache
from tests.vm.disk import closure
from tools import debian
from tools.supply_chain import pinned

FIRST, LATER = "evictd.deb", "evictd-later.deb"
LATER_VERSION = f"{__version__}+1"
_SOURCES = ("src", "config", "deploy", "tools", "pyproject.toml", "requirements.txt", "tests/vm/package.py")


def ensure() -> tuple[Path, Path]:
    """Return both packages, building them first if they are not in the cache (about half a minute)."""
    root = cache.cache_root()
    finished = root / f"package-{_key()}"
    with cache.exclusive(root, "package.lock"):
        if not finished.exists():
            with cache.temporary(root) as work:
                _build(work).rename(finished)
            for old in root.glob("package-*/"):
                if old != finished:
                    shutil.rmtree(old)
    return finished / FIRST, finished / LATER


def _key() -> str:
    """Hash the names and contents of all files that the packages are made from."""
    digest = hashlib.sha256()
    for source in (debian.ROOT / name for name in _SOURCES):
        for path in sorted(source.rglob("*")) if source.is_dir() else [source]:
            if path.is_file() and path.suffix != ".pyc":
                digest.update(f"{path.relative_to(debian.ROOT)}\0".encode())
                digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


def _build(work: Path) -> Path:
    """Build both packages in `work` and give the folder that they are in."""
    pins = pinned()
    requirements = work / "requirements.txt"
    wanted = sorted({*closure(["evictd"]), "setuptools"} - {"evictd"})
    requirements.write_text("".join(f"{pins[name]}\n" for name in wanted))
    parts = work / "package"
    parts.mkdir()
    install = partial(debian.install_environment, requirements=requirements)
    debian.build(work, install, level=1).rename(parts / FIRST)
    content = work / "content"
    _run("dpkg-deb", "--raw-extract", str(parts / FIRST), str(content))
    control = content / "DEBIAN/control"
    control.write_text(control.read_text().replace(f"Version: {__version__}\n", f"Version: {LATER_VERSION}\n"))
    _run("dpkg-deb", "--root-owner-group", "-Znone", "--build", str(content), str(parts / LATER))
    return parts


def _run(*command: str) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

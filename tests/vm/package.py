"""Builds what depends on the guest's Python: `python -m tests.vm.package FOLDER`, under a Python of that version.

The Debian packages that the guest installs: evictd without the client of an API server, and a later version of it; `site`, the
packages that evictd and pytest need; `src`, compiled. They are kept in the cache under a hash of what they are made from, and
made again when that changes. Where the guest's Python is not this one, they are built in the root directory of its release that
`make test-matrix` has.
"""

import compileall
import hashlib
import shutil
import subprocess
import sys
from functools import partial
from importlib.metadata import distribution
from pathlib import Path

from evictd import __version__
from tests.tools import matrix
from tests.vm import build, cache
from tests.vm.disk import NOT_WANTED, TEST_TOOLS, closure
from tools import debian
from tools.supply_chain import pinned

FIRST, LATER = "evictd.deb", "evictd-later.deb"
LATER_VERSION = f"{__version__}+1"
_SOURCES = (
    "src",
    "config",
    "deploy",
    "tools",
    "pyproject.toml",
    "constraints.txt",
    "tests/vm/package.py",
    "tests/vm/disk.py",
)


def ensure() -> Path:
    """Return the folder with all of it, building it first if it is not in the cache (about half a minute, once some minutes)."""
    release = build.distribution()
    make = _build if sys.version_info[:2] == build.PYTHONS[release] else partial(_build_in, release)
    return cache.ensure(cache.cache_root(), f"package-{release}", _key(), make)


def _key() -> str:
    """Hash the names and contents of all files that the packages are made from."""
    digest = hashlib.sha256()
    for source in (debian.ROOT / name for name in _SOURCES):
        for path in sorted(source.rglob("*")) if source.is_dir() else [source]:
            if path.is_file() and path.suffix != ".pyc":
                digest.update(f"{path.relative_to(debian.ROOT)}\0".encode())
                digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


def _build_in(release: str, parts: Path) -> None:
    """Build it in the root directory of a release, under its Python, and copy it to `parts`."""
    if problems := list(matrix.missing()):
        raise SystemExit("\n".join(problems))
    root = matrix.ensure_root(release)
    target = matrix.HOME / "vm"
    with cache.exclusive(root.parent, f"{release}.lock"):
        matrix.prepare(root)
        shutil.rmtree(root / target, ignore_errors=True)
        for command in (("make", "setup"), (".venv/bin/python", "-m", "tests.vm.package", f"/{target}")):
            if matrix.run_in(root, *command)[0]:
                raise SystemExit(f"the packages of {release} were not built; see above")
        shutil.copytree(root / target, parts, symlinks=True)
        shutil.rmtree(root / target)


def _build(parts: Path) -> None:
    """Build it for this Python; `parts` is made."""
    parts.mkdir(parents=True)
    pins = pinned()
    requirements = parts / "requirements.txt"
    wanted = sorted({*closure(["evictd"]), "setuptools"} - {"evictd"})
    requirements.write_text("".join(f"{pins[name]}\n" for name in wanted))
    install = partial(debian.install_environment, requirements=requirements)
    debian.build(parts / "work", install, level=1).rename(parts / FIRST)
    content = parts / "work/content"
    _run("dpkg-deb", "--raw-extract", str(parts / FIRST), str(content))
    control = content / "DEBIAN/control"
    control.write_text(control.read_text().replace(f"Version: {__version__}\n", f"Version: {LATER_VERSION}\n"))
    _run("dpkg-deb", "--root-owner-group", "-Znone", "--build", str(content), str(parts / LATER))
    shutil.rmtree(parts / "work")
    for name in closure(["evictd", *TEST_TOOLS]):
        _copy_distribution(name, parts / "site")
    shutil.copytree(debian.ROOT / "src", parts / "src", ignore=NOT_WANTED)
    # Compiling under emulation takes longer than all the checks.
    compileall.compile_dir(parts / "src", quiet=1)


def _copy_distribution(name: str, site: Path) -> None:
    for file in distribution(name).files or ():
        source = Path(str(file.locate()))
        if ".." not in file.parts and source.is_file():  # no scripts
            target = site / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)


def _run(*command: str) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    _build(Path(sys.argv[1]))

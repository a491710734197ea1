"""Runs evictd and its unit tests as programs of arm64, emulated (`make test-arm64`).

    python -m tests.tools.arm64 [pytest arguments]

Debian 13's Python for arm64 and the pinned wheels for it are fetched once into the cache outside the tree; this fails if a
dependency has no wheel with a pinned hash. qemu-user runs that Python as an ordinary program. It cannot start other programs of
arm64, so the tests are those of the packages that start none. Exit status 2: something is missing.
"""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

from evictd_testnode.binaries import debian_mirror, default_cache
from tests.tools.matrix import MMDEBSTRAP, ROOT, absent
from tests.vm import cache
from tests.vm.disk import TEST_TOOLS, closure
from tools.supply_chain import pinned

QEMU = "qemu-aarch64-static"
PROGRAMS = {QEMU: "qemu-user-static", "mmdebstrap": "mmdebstrap", "setpriv": "util-linux"}
RELEASE, PYTHON = "trixie", "3.13"
PLATFORMS = ("manylinux2014_aarch64", "manylinux_2_28_aarch64")
TESTS = ("tests/core/units", "tests/core/model", "tests/config")
"""What `make test-arm64` runs if it is given nothing else: quantities, values and documents. More takes long when emulated."""
WITHOUT_PACKAGE = (
    "tests/config/test_schema.py",
    "tests/clients/cri/test_decode.py",
    "tests/clients/cri/test_values.py",
)
"""Tests that need packages that are not among the wheels."""


def main(arguments: list[str]) -> int:
    """Fetch what is missing, try the program, run the tests; return pytest's status."""
    missing = list(absent(PROGRAMS))
    for problem in missing:
        print(f"make test-arm64: {problem}", file=sys.stderr)
    if missing:
        return 2
    folder = ensure()
    for command in (["--version"], ["check", "--syntax", "config/evictd.yaml"]):
        if status := run(folder, "-m", "evictd", *command):
            return status
    scratch = ["-p", "no:cacheprovider", "-m", "not slow", "--timeout=3600"]
    scratch += [f"--ignore={each}" for each in WITHOUT_PACKAGE]
    return run(folder, "-m", "pytest", "-q", *scratch, *(arguments or TESTS))


def ensure() -> Path:
    """Return the folder with `root`, the files of Debian's Python, and `site`, the wheels; fetches them if need be."""
    pins = pinned()
    requirements = "\n".join(pins[name] for name in closure(["evictd", *TEST_TOOLS, "hypothesis"]) if name != "evictd")
    key = hashlib.sha256(f"{RELEASE}{PYTHON}{requirements}".encode()).hexdigest()[:16]

    def fetch(parts: Path) -> None:
        parts.mkdir()
        _fetch_python(parts / "root")
        (parts / "requirements.txt").write_text(requirements)
        _fetch_wheels(parts / "site", parts / "requirements.txt")

    return cache.ensure(default_cache() / "arm64", RELEASE, key, fetch)


def _fetch_python(root: Path) -> None:
    """Unpack Debian's Python and what it needs, without running any of its programs."""
    options = ["--mode=root" if os.geteuid() == 0 else "--mode=unshare"]
    options += ["--variant=extract", "--architectures=arm64", "--include=python3,python3-venv"]
    command = ["setpriv", "--pdeathsig", "KILL", *MMDEBSTRAP, *options, RELEASE, str(root), debian_mirror()]
    subprocess.run(command, stdin=subprocess.DEVNULL, check=True)
    (root / "lib").symlink_to("usr/lib")  # base-files has it, which nothing here needs


def _fetch_wheels(site: Path, requirements: Path) -> None:
    """Install the wheels for arm64 that have a pinned hash; fails where a dependency has none."""
    platforms = [option for each in PLATFORMS for option in ("--platform", each)]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", str(site)]
    wheels = ["--only-binary", ":all:", "--python-version", PYTHON, *platforms]
    subprocess.run([*pip, *wheels, "--no-deps", "--require-hashes", "--requirement", str(requirements)], check=True)


def run(folder: Path, *arguments: str) -> int:
    """Run the Python of arm64 with evictd's sources and the wheels; return its status."""
    root = folder / "root"
    path = os.pathsep.join(str(each) for each in (folder / "site", ROOT / "src"))
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": ""}
    command = [
        "setpriv",
        "--pdeathsig",
        "KILL",
        QEMU,
        "-L",
        str(root),
        str(root / f"usr/bin/python{PYTHON}"),
        *arguments,
    ]
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

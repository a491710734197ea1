"""Builds the test machine's disk once, stores it in the cache, and builds it again when its recipe changes.

The recipe is `provision.sh` and the files under `rootfs/`; the folder of the finished image has the release of Debian and their
hash in its name. A build has namespaces of its own, so a killed one leaves no mounts.
"""

import hashlib
import os
import shutil
import subprocess
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from evictd_testnode.binaries import debian_mirror
from tests.vm import cache

HERE = Path(__file__).parent
PACKAGES = {
    "qemu-system-x86_64": "qemu-system-x86",
    "debootstrap": "debootstrap",
    "mke2fs": "e2fsprogs",
    "setpriv": "util-linux",
}
"""A program that must be on the host, and the Debian package that has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """The finished parts of the machine; never written to again."""

    disk: Path
    kernel: Path
    initrd: Path


DISTRIBUTION = "EVICTD_VM_DIST"
PYTHONS = {"bookworm": (3, 11), "trixie": (3, 13), "forky": (3, 14)}
"""The releases of Debian that the machine can be, and the Python of each."""


def distribution() -> str:
    """Return the release that `DISTRIBUTION` names, bookworm if it is not set; raises `SystemExit` for an unknown one."""
    name = os.environ.get(DISTRIBUTION) or "bookworm"
    if name not in PYTHONS:
        raise SystemExit(f"{DISTRIBUTION}: {name!r} is none of {', '.join(PYTHONS)}")
    return name


def recipe_key(here: Path = HERE) -> str:
    """Return the name of the recipe: a hash over the contents and names of its files."""
    digest = hashlib.sha256()
    for path in (here / "provision.sh", *sorted((here / "rootfs").rglob("*"))):
        if path.is_file():
            digest.update(f"{path.relative_to(here)}\0".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


def ensure_programs() -> None:
    """Install what the host lacks; raises `SystemExit` where that needs root, or apt-get."""
    missing = sorted({package for program, package in PACKAGES.items() if shutil.which(program) is None})
    if not missing:
        return
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise SystemExit(f"the test machine needs these packages: {' '.join(missing)}")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    install = ["apt-get", "install", "-qy", "--no-install-recommends", "--no-upgrade", *missing]
    for argv in (["apt-get", "update", "-q"], install):
        subprocess.run(argv, env=environment, stdout=subprocess.DEVNULL, check=True)


def ensure_image() -> Image:
    """Return the image of the present recipe, building it first if it is not there (about 100 s)."""
    release = distribution()
    finished = cache.ensure(cache.cache_root(), f"image-{release}", recipe_key(), partial(_build, release))
    return Image(disk=finished / "disk.img", kernel=finished / "vmlinuz", initrd=finished / "initrd.img")


def _build(release: str, image: Path) -> None:
    if os.geteuid() != 0:
        raise SystemExit("building the test machine needs root (debootstrap)")
    began = time.monotonic()
    work = image.parent
    print(f"building the test machine ({release}) in {work.parent} (once) ...", flush=True)
    log = work / "build.log"
    try:
        _provision(work, log, release)
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"{log.read_text(errors='replace')[-4000:]}\nthe build failed: {error}") from error
    image.mkdir()
    for name in ("disk.img", "vmlinuz", "initrd.img"):
        (work / name).rename(image / name)
    print(f"built in {time.monotonic() - began:.0f} s", flush=True)


def _provision(work: Path, log: Path, release: str) -> None:
    mirror = os.environ.get("EVICTD_VM_MIRROR") or debian_mirror()
    # The build is killed with this process, and its mounts end with the namespace.
    fenced = ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--propagation", "private", "--pid", "--fork"]
    fenced += ["--kill-child=SIGKILL", "--mount-proc", "--"]
    argv = [*fenced, "sh", str(HERE / "provision.sh"), str(work), str(HERE / "rootfs"), mirror, release]
    with log.open("wb") as out:
        subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, timeout=1800, check=True)

"""Builds the image of `deploy/Dockerfile` without a registry: `python -m tools.image ARCHIVE [ARCHITECTURE ...]` (amd64, arm64).

It is made from Debian's Python, the dependencies and this source, and written as an OCI archive. The layers are what the
Dockerfile makes: an interpreter, `/opt/evictd` with the packages that evictd requires (none of the development's), everything
compiled; no shell and no compiler. Environment, user and entry point are read from the Dockerfile itself. Nothing of another
architecture is run: its packages are unpacked, and byte code is the same everywhere. The first two layers are cached by their
content's names below the demo's cache folder; the layer of evictd's own source is made anew each time. The same packages and the
same source give the same bytes: files have one time, and records of the place of the build are left out. `--lock` writes
deploy/image.lock.
"""

import argparse
import hashlib
import importlib.metadata
import platform
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from evictd import __version__
from evictd_testnode.binaries import default_cache
from evictd_testnode.tool import run_tool
from tools import debs, oci
from tools.debs import ARCHITECTURES, PYTHON, Deb
from tools.oci import Layer
from tools.packing import compress, pack
from tools.supply_chain import UNUSED, closure, pinned, wheel_options

ROOT = Path(__file__).parents[1]
DOCKERFILE = ROOT / "deploy" / "Dockerfile"
REFERENCE = f"docker.io/library/evictd:{__version__}"
"""What `image: evictd:VERSION` of the DaemonSet means to a kubelet."""
SITE = f"opt/evictd/lib/{PYTHON}/site-packages"
KEPT_SECONDS = 24 * 3600
COMPILER = Path("/usr/bin/python3.11")
"""Debian's, as in the image: other patch versions make other byte code of the same sources."""
_MERGED = ("bin", "sbin", "lib", "lib64")
_OF_THIS_PLACE = ("RECORD", "REQUESTED", "direct_url.json")
"""Files of an installed package that name where or how it was installed."""
_INSTALL_SECONDS = 1200


def write_image(cache: Path, archive: Path, packages: Mapping[str, Sequence[Deb]]) -> str:
    """Write the image as an OCI archive for `ctr images import`; return the digest of its index.

    `packages` has Debian's packages of each architecture (`debs.available`).
    """
    with TemporaryDirectory(prefix="evictd-image-") as made:
        root = Path(made) / "root"
        _own_source(root)
        own = _layer(root, Path(made) / "own")
        images = [
            oci.Platform(each, [_interpreter(cache, each, wanted), _dependencies(cache, each), own])
            for each, wanted in packages.items()
        ]
        return oci.write_image(archive, images, _config(), REFERENCE)


def _interpreter(cache: Path, architecture: str, wanted: Sequence[Deb]) -> Layer:
    """Unpack Debian's Python, with merged folders as Debian has them, and compile its library."""

    def fill(root: Path) -> None:
        with TemporaryDirectory(prefix="making-", dir=cache / "image") as work:
            shutil.copytree(
                debs.unpack(cache, architecture, wanted, Path(work)), root, symlinks=True, dirs_exist_ok=True
            )
        for name in _MERGED:
            _merge(root, name)
        (root / "tmp").mkdir(mode=0o1777)
        shutil.rmtree(root / "usr/share")
        _compile(root, root / f"usr/lib/{PYTHON}")

    return _cached(cache, f"interpreter-{architecture}", debs.lock(wanted), fill)


def _merge(root: Path, name: str) -> None:
    """Move `/NAME` to `/usr/NAME`, with a link in its place."""
    (root / "usr" / name).mkdir(parents=True, exist_ok=True)
    if (root / name).is_dir():
        shutil.copytree(root / name, root / "usr" / name, symlinks=True, dirs_exist_ok=True)
        shutil.rmtree(root / name)
    (root / name).symlink_to(f"usr/{name}")


def _dependencies(cache: Path, architecture: str) -> Layer:
    """Install the packages that evictd requires as a virtual environment."""
    found = [importlib.metadata.distribution(name) for name in sorted(closure("evictd") - {"evictd"})]
    versions = "\n".join([*(f"{each.name}=={each.version}" for each in found), *UNUSED])

    def fill(root: Path) -> None:
        (root / "opt/evictd/bin").mkdir(parents=True)
        (root / "opt/evictd/pyvenv.cfg").write_text("home = /usr/bin\ninclude-system-site-packages = false\n")
        for name in ("python", "python3", PYTHON):
            (root / "opt/evictd/bin" / name).symlink_to(f"/usr/bin/{PYTHON}")
        if ARCHITECTURES[architecture] == platform.machine():
            for each in found:
                _copy(each, root / SITE)
        else:
            _install(ARCHITECTURES[architecture], root / SITE)
        for unused in UNUSED:
            shutil.rmtree(root / SITE / unused)
        _compile(root, root / SITE)

    return _cached(cache, f"dependencies-{architecture}", versions, fill)


def _install(machine: str, site: Path) -> None:
    """Install the wheels of another architecture, by the sums of constraints.txt."""
    pins = pinned()
    with TemporaryDirectory(prefix="evictd-wheels-") as made:
        wanted, found = Path(made) / "requirements.txt", Path(made) / "site"
        wanted.write_text("".join(f"{pins[name]}\n" for name in sorted(closure("evictd") - {"evictd"})))
        pip = (sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile")
        wheels = wheel_options(machine, PYTHON[6:])
        pinned_files = ("--no-deps", "--require-hashes", "--target", found, "--requirement", wanted)
        run_tool(*pip, *wheels, *pinned_files, seconds=_INSTALL_SECONDS)
        shutil.rmtree(found / "bin", ignore_errors=True)
        shutil.copytree(found, site, ignore=shutil.ignore_patterns(*_OF_THIS_PLACE))


def _copy(distribution: importlib.metadata.Distribution, site: Path) -> None:
    for file in distribution.files or ():
        if ".." in file.parts or "__pycache__" in file.parts:  # console scripts, and what is compiled anew
            continue
        if file.name in _OF_THIS_PLACE:
            continue
        target = site / file
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(Path(str(file.locate())), target)


def _own_source(root: Path) -> None:
    shutil.copytree(ROOT / "src/evictd", root / SITE / "evictd", ignore=shutil.ignore_patterns("__pycache__"))
    script = root / "opt/evictd/bin/evictd"
    script.parent.mkdir(parents=True)
    script.write_text("#!/opt/evictd/bin/python\nimport sys\nfrom evictd.__main__ import main\nsys.exit(main())\n")
    script.chmod(0o755)
    shutil.copy(ROOT / "deploy/evictd-probe", script.parent)
    _compile(root, root / SITE)


def _compile(root: Path, folder: Path) -> None:
    """Compile as the Dockerfile does."""
    line = next(line for line in DOCKERFILE.read_text().splitlines() if "compileall" in line)
    mode = re.search(r"--invalidation-mode (\S+)", line)
    options = ("--invalidation-mode", mode[1]) if mode else ()
    run_tool(COMPILER, "-m", "compileall", "-q", *options, "-s", str(root), "-p", "/", str(folder))


def _cached(cache: Path, name: str, key: str, fill: Callable[[Path], None]) -> Layer:
    """Return a layer; made once for a key and for this file and the Dockerfile as they are."""
    made_from = "\n".join([key, Path(__file__).read_text(), DOCKERFILE.read_text()])
    folder = cache / "image"
    stem = folder / f"{name}-{hashlib.sha256(made_from.encode()).hexdigest()[:16]}"
    found = Layer(stem.with_suffix(".tar"), stem.with_suffix(".tar.gz"))
    if not found.plain.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix="making-", dir=folder) as made:
            root = Path(made) / "root"
            root.mkdir()
            fill(root)
            layer = _layer(root, Path(made) / "layer")
            layer.packed.rename(found.packed)
            layer.plain.rename(found.plain)
    _remove_old(found, name)
    return found


def _remove_old(used: Layer, name: str) -> None:
    """Remove layers of earlier versions; not one that another run, of this or another checkout, may be about to read."""
    for each in used:
        each.touch()
    for old in used.plain.parent.glob(f"{name}-*.tar*"):
        with suppress(FileNotFoundError):
            if old not in used and used.plain.stat().st_mtime - old.stat().st_mtime > KEPT_SECONDS:
                old.unlink()


def _layer(root: Path, stem: Path) -> Layer:
    """Pack what lies below `root` into STEM.tar and STEM.tar.gz."""
    layer = Layer(stem.with_suffix(".tar"), stem.with_suffix(".tar.gz"))
    pack(root, layer.plain, epoch=0)
    compress(layer.plain, layer.packed)
    return layer


def _config() -> dict[str, object]:
    """Read ENV, USER, ENTRYPOINT and CMD of the final stage."""
    final = DOCKERFILE.read_text().split("\nFROM ")[-1].replace("\\\n", " ")
    lines = dict(_instructions(final))
    environment = dict(part.split("=", 1) for part in shlex.split(lines["ENV"]))
    environment["PATH"] = environment["PATH"].replace("$PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
    return {
        "Env": [f"{name}={value}" for name, value in environment.items()],
        "User": lines["USER"],
        "Entrypoint": [word.strip('",[] ') for word in lines["ENTRYPOINT"].split(",")],
        "Cmd": [word.strip('",[] ') for word in lines["CMD"].split(",")],
    }


def _instructions(stage: str) -> Iterator[tuple[str, str]]:
    for line in stage.splitlines():
        name, _, rest = line.strip().partition(" ")
        if name.isupper() and rest:
            yield name, rest


def main(arguments: Sequence[str]) -> int:
    """Write the image, or the sums of Debian's packages for it."""
    parser = argparse.ArgumentParser(prog="python -m tools.image", description=(__doc__ or "").partition(":")[0] + ".")
    parser.add_argument(
        "archive", nargs="?", type=Path, metavar="ARCHIVE", help="the OCI archive to write, such as evictd.tar"
    )
    parser.add_argument(
        "architectures", nargs="*", metavar="ARCHITECTURE", help=f"{' or '.join(ARCHITECTURES)}; default: amd64"
    )
    parser.add_argument("--lock", action="store_true", help="write deploy/image.lock instead of an archive")
    args = parser.parse_args(arguments)
    if unknown := sorted(set(args.architectures) - set(ARCHITECTURES)):
        parser.error(f"{unknown[0]}: is none of {', '.join(ARCHITECTURES)}")
    if args.lock:
        packages = debs.available(default_cache(), ARCHITECTURES)
        debs.LOCK.write_text(debs.lock(deb for each in packages.values() for deb in each))
        return 0
    if args.archive is None:
        parser.error("which file? give ARCHIVE, such as evictd.tar")
    packages = debs.available(default_cache(), args.architectures or ["amd64"])
    print(write_image(default_cache(), args.archive, packages))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

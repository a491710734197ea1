"""Builds the image of `deploy/Dockerfile` without a registry: `python -m tools.image ARCHIVE` writes an OCI archive.

It is made from Debian's Python, the installed dependencies and this source. The layers are what the Dockerfile makes: an
interpreter, `/opt/evictd` with the packages that evictd requires (none of the development's), everything compiled; no shell and
no compiler. Environment, user and entry point are read from the Dockerfile itself. The first two layers are cached by their
content's names below the demo's cache folder; the layer of evictd's own source is made anew each time. The same packages and
the same source give the same bytes: files have one time, and records of the place of the build are left out.
"""

import hashlib
import importlib.metadata
import json
import re
import shlex
import shutil
import sys
import tarfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from evictd import __version__
from evictd_testnode.binaries import default_cache, unpack_packages
from evictd_testnode.tool import run_tool
from tools.packing import add_bytes, add_file, compress, digest, pack
from tools.supply_chain import closure

ROOT = Path(__file__).parents[1]
DOCKERFILE = ROOT / "deploy" / "Dockerfile"
REFERENCE = f"docker.io/library/evictd:{__version__}"
"""What `image: evictd:VERSION` of the DaemonSet means to a kubelet."""
PYTHON = "python3.11"
PACKAGES = (
    *(f"{PYTHON}-minimal", f"lib{PYTHON}-minimal", f"lib{PYTHON}-stdlib"),
    *("libc6", "libexpat1", "zlib1g", "libssl3", "libffi8", "libbz2-1.0", "liblzma5", "libuuid1"),
    *("libgcc-s1", "libstdc++6"),
)
"""The interpreter, and the libraries of the parts of it and of the wheels that evictd imports."""
SITE = f"opt/evictd/lib/{PYTHON}/site-packages"
KEPT_SECONDS = 24 * 3600
_MERGED = ("bin", "sbin", "lib", "lib64")
_OF_THIS_PLACE = ("RECORD", "REQUESTED", "direct_url.json")
"""Files of an installed package that name where or how it was installed."""
_OCI = "application/vnd.oci.image"


class Layer(NamedTuple):
    """A layer of the image as a tar archive, and compressed."""

    plain: Path
    packed: Path


def write_image(cache: Path, archive: Path) -> None:
    """Write the image as an OCI archive for `ctr images import`."""
    with TemporaryDirectory(prefix="evictd-image-") as made:
        own = Path(made) / "root"
        _own_source(own)
        _write_archive(archive, [_interpreter(cache), _dependencies(cache), _layer(own, Path(made) / "own")])


def _interpreter(cache: Path) -> Layer:
    """Unpack Debian's Python, with merged folders as Debian has them, and compile its library."""

    def fill(root: Path) -> None:
        shutil.copytree(unpack_packages(cache, "python", PACKAGES), root, symlinks=True, dirs_exist_ok=True)
        for name in _MERGED:
            _merge(root, name)
        (root / "tmp").mkdir(mode=0o1777)
        shutil.rmtree(root / "usr/share")
        _compile(root, root / f"usr/lib/{PYTHON}")

    return _cached(cache, "interpreter", "\n".join(PACKAGES), fill)


def _merge(root: Path, name: str) -> None:
    """Move `/NAME` to `/usr/NAME`, with a link in its place."""
    (root / "usr" / name).mkdir(parents=True, exist_ok=True)
    if (root / name).is_dir():
        shutil.copytree(root / name, root / "usr" / name, symlinks=True, dirs_exist_ok=True)
        shutil.rmtree(root / name)
    (root / name).symlink_to(f"usr/{name}")


def _dependencies(cache: Path) -> Layer:
    """Copy the packages that evictd requires out of the environment of the tests, as a virtual environment."""
    found = [importlib.metadata.distribution(name) for name in sorted(closure("evictd") - {"evictd"})]
    versions = "\n".join(f"{each.name}=={each.version}" for each in found)

    def fill(root: Path) -> None:
        (root / "opt/evictd/bin").mkdir(parents=True)
        (root / "opt/evictd/pyvenv.cfg").write_text("home = /usr/bin\ninclude-system-site-packages = false\n")
        for name in ("python", "python3", PYTHON):
            (root / "opt/evictd/bin" / name).symlink_to(f"/usr/bin/{PYTHON}")
        for each in found:
            _copy(each, root / SITE)
        _compile(root, root / SITE)

    return _cached(cache, "dependencies", versions, fill)


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
    """Compile as the Dockerfile does; the test's interpreter has the same version of byte code as the image's."""
    assert sys.version_info[:2] == (3, 11), "the image has Debian's Python 3.11"
    line = next(line for line in DOCKERFILE.read_text().splitlines() if "compileall" in line)
    mode = re.search(r"--invalidation-mode (\S+)", line)
    options = ("--invalidation-mode", mode[1]) if mode else ()
    run_tool(sys.executable, "-m", "compileall", "-q", *options, "-s", str(root), "-p", "/", str(folder))


def _cached(cache: Path, name: str, key: str, fill: Callable[[Path], None]) -> Layer:
    """Return a layer; made once for a key and for this file and the Dockerfile as they are."""
    told = "\n".join([key, Path(__file__).read_text(), DOCKERFILE.read_text()])
    folder = cache / "image"
    stem = folder / f"{name}-{hashlib.sha256(told.encode()).hexdigest()[:16]}"
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


def _write_archive(archive: Path, layers: list[Layer]) -> None:
    """Write an OCI layout with this one image."""
    config = _json(
        {
            "architecture": "amd64",
            "os": "linux",
            "config": _config(),
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest(layer.plain)}" for layer in layers]},
        }
    )
    manifest = _json(
        {
            "schemaVersion": 2,
            "mediaType": f"{_OCI}.manifest.v1+json",
            "config": _descriptor(f"{_OCI}.config.v1+json", _sha256(config), len(config)),
            "layers": [
                _descriptor(f"{_OCI}.layer.v1.tar+gzip", digest(layer.packed), layer.packed.stat().st_size)
                for layer in layers
            ],
        }
    )
    named = _descriptor(f"{_OCI}.manifest.v1+json", _sha256(manifest), len(manifest))
    named["annotations"] = {"io.containerd.image.name": REFERENCE, "org.opencontainers.image.ref.name": REFERENCE}
    with tarfile.open(archive, "w") as tar:
        add_bytes(tar, "oci-layout", b'{"imageLayoutVersion":"1.0.0"}')
        add_bytes(tar, "index.json", _json({"schemaVersion": 2, "manifests": [named]}))
        for blob in (config, manifest):
            add_bytes(tar, f"blobs/sha256/{_sha256(blob)}", blob)
        for layer in layers:
            add_file(tar, layer.packed, f"blobs/sha256/{digest(layer.packed)}")


def _descriptor(media_type: str, sha256: str, size: int) -> dict[str, object]:
    return {"mediaType": media_type, "digest": f"sha256:{sha256}", "size": size}


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


if __name__ == "__main__":
    write_image(default_cache(), Path(sys.argv[1]))

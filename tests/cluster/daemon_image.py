"""Builds the image of `deploy/Dockerfile` without a registry, from Debian's Python, the installed dependencies and this source.

The layers are what the Dockerfile makes: an interpreter, `/opt/evictd` with the packages that evictd requires (none of the
development's), everything compiled. Environment, user and entry point are read from the Dockerfile itself. The first two layers
are cached by their content's names below the demo's cache folder; the layer of evictd's own source is made anew each time.
"""

import hashlib
import importlib.metadata
import io
import json
import re
import shlex
import shutil
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from packaging.requirements import Requirement

from evictd.demo.binaries import unpack_packages
from evictd.demo.tool import run_tool

ROOT = Path(__file__).parents[2]
DOCKERFILE = ROOT / "deploy" / "Dockerfile"
REFERENCE = "docker.io/library/evictd:0.1.0"
"""What `image: evictd:0.1.0` of the DaemonSet means to a kubelet."""
PYTHON = "python3.11"
PACKAGES = (
    *(f"{PYTHON}-minimal", f"lib{PYTHON}-minimal", f"lib{PYTHON}-stdlib"),
    *("libc6", "libexpat1", "zlib1g", "libssl3", "libffi8", "libbz2-1.0", "liblzma5", "libuuid1"),
    *("libgcc-s1", "libstdc++6"),
)
"""The interpreter, and the libraries of the parts of it and of the wheels that evictd imports."""
SITE = f"opt/evictd/lib/{PYTHON}/site-packages"
_MERGED = ("bin", "sbin", "lib", "lib64")


def write_image(cache: Path, archive: Path) -> None:
    """Write the image as an OCI archive for `ctr images import`."""
    layers = [_interpreter(cache), _dependencies(cache)]
    with TemporaryDirectory(prefix="evictd-image-") as made:
        own = Path(made) / "own.tar"
        _own_source(Path(made) / "root", own)
        _write_archive(archive, [*layers, own])


def _interpreter(cache: Path) -> Path:
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


def _dependencies(cache: Path) -> Path:
    """Copy the packages that evictd requires out of the environment of the tests, as a virtual environment."""
    found = sorted(_required("evictd", {}).values(), key=lambda each: str(each.name))
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


def _required(
    name: str, seen: dict[str, importlib.metadata.Distribution]
) -> dict[str, importlib.metadata.Distribution]:
    """Collect what a distribution requires here, itself left out."""
    for text in importlib.metadata.distribution(name).requires or ():
        requirement = Requirement(text)
        wanted = re.sub(r"[-_.]+", "-", requirement.name).lower()
        if wanted not in seen and (requirement.marker is None or requirement.marker.evaluate({"extra": ""})):
            seen[wanted] = importlib.metadata.distribution(wanted)
            _required(wanted, seen)
    return seen


def _copy(distribution: importlib.metadata.Distribution, site: Path) -> None:
    for file in distribution.files or ():
        if ".." in file.parts or "__pycache__" in file.parts:  # console scripts, and what is compiled anew
            continue
        target = site / file
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(Path(str(file.locate())), target)


def _own_source(root: Path, layer: Path) -> None:
    shutil.copytree(ROOT / "src/evictd", root / SITE / "evictd", ignore=shutil.ignore_patterns("__pycache__"))
    script = root / "opt/evictd/bin/evictd"
    script.parent.mkdir(parents=True)
    script.write_text("#!/opt/evictd/bin/python\nimport sys\nfrom evictd.__main__ import main\nsys.exit(main())\n")
    script.chmod(0o755)
    _compile(root, root / SITE)
    _pack(root, layer)


def _compile(root: Path, folder: Path) -> None:
    """Compile as the Dockerfile does; the test's interpreter has the same version of byte code as the image's."""
    assert sys.version_info[:2] == (3, 11), "the image has Debian's Python 3.11"
    line = next(line for line in DOCKERFILE.read_text().splitlines() if "compileall" in line)
    mode = re.search(r"--invalidation-mode (\S+)", line)
    options = ("--invalidation-mode", mode[1]) if mode else ()
    run_tool(sys.executable, "-m", "compileall", "-q", *options, "-s", str(root), "-p", "/", str(folder))


def _cached(cache: Path, name: str, key: str, fill: Callable[[Path], None]) -> Path:
    """Give the layer's tar; made once for a key and for this file and the Dockerfile as they are."""
    told = "\n".join([key, Path(__file__).read_text(), DOCKERFILE.read_text()])
    folder = cache / "image"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{hashlib.sha256(told.encode()).hexdigest()[:16]}.tar"
    if not path.exists():
        with TemporaryDirectory(prefix="making-", dir=folder) as made:
            root = Path(made) / "root"
            root.mkdir()
            fill(root)
            _pack(root, Path(made) / "layer.tar")
            for old in folder.glob(f"{name}-*.tar"):
                old.unlink(missing_ok=True)
            (Path(made) / "layer.tar").rename(path)
    return path


def _pack(root: Path, layer: Path) -> None:
    run_tool("tar", "--owner=0", "--group=0", "--numeric-owner", "--sort=name", "-C", root, "-cf", layer, ".")


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


def _write_archive(archive: Path, layers: list[Path]) -> None:
    """Write an OCI layout with this one image; the layers are copied from their files."""
    digests = [_digest(layer) for layer in layers]
    config = json.dumps(
        {
            "architecture": "amd64",
            "os": "linux",
            "config": _config(),
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}" for digest in digests]},
        }
    ).encode()
    oci = "application/vnd.oci.image"
    manifest = json.dumps(
        {
            "schemaVersion": 2,
            "mediaType": f"{oci}.manifest.v1+json",
            "config": _descriptor(f"{oci}.config.v1+json", hashlib.sha256(config).hexdigest(), len(config)),
            "layers": [
                _descriptor(f"{oci}.layer.v1.tar", digest, layer.stat().st_size)
                for digest, layer in zip(digests, layers, strict=True)
            ],
        }
    ).encode()
    named = _descriptor(f"{oci}.manifest.v1+json", hashlib.sha256(manifest).hexdigest(), len(manifest))
    named["annotations"] = {"io.containerd.image.name": REFERENCE, "org.opencontainers.image.ref.name": REFERENCE}
    with tarfile.open(archive, "w") as tar:
        _add(tar, "oci-layout", b'{"imageLayoutVersion":"1.0.0"}')
        _add(tar, "index.json", json.dumps({"schemaVersion": 2, "manifests": [named]}).encode())
        for blob in (config, manifest):
            _add(tar, f"blobs/sha256/{hashlib.sha256(blob).hexdigest()}", blob)
        for digest, layer in zip(digests, layers, strict=True):
            tar.add(layer, f"blobs/sha256/{digest}")


def _descriptor(media_type: str, digest: str, size: int) -> dict[str, object]:
    return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": size}


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    tar.addfile(entry, io.BytesIO(content))

"""Makes the files of a release from the commit that is checked out: `python -m tools.release [FOLDER]` (or `make release`).

    packages    wheel, source archive, Debian packages of this Debian release
    image       OCI archive for amd64 and arm64 (`ctr images import`, `skopeo copy oci-archive:...`)
    cluster     Helm chart, also as an OCI archive; one file for each overlay of kustomize and for the removal
    documents   the site as HTML
    proof       SBOM of packages and image, provenance (in-toto, SLSA v1), SHA256SUMS; a signature of that where
                `EVICTD_SIGNING_KEY` names a key of cosign
    bundle      all of these and install.sh in one archive, for machines without a network

Two runs on one commit give the same bytes: every time is that of the commit. The files appear together under
build/release/VERSION, or none of them. Exit status 2 says what is missing: uncommitted changes, versions that differ, a program.
"""

import os
import platform
import shutil
import sys
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from evictd import __version__
from evictd.errors import NodeError
from evictd_testnode.binaries import default_cache
from evictd_testnode.tool import run_tool
from tools import debs, oci, proof, trixie, versions
from tools.image import COMPILER, write_image
from tools.packing import add_file, checksums, pack_compressed, repacked, unpack

ROOT = Path(__file__).parents[1]
OVERLAYS = ("overlays/beside-kubelet", "overlays/instead-of-kubelet-eviction", "overlays/dry-run", "cleanup")
KEY = "EVICTD_SIGNING_KEY"
"""The environment variable with the path of the private key; its password is in `COSIGN_PASSWORD`, as cosign documents."""
NEEDED = {
    "git": "Debian's package git",
    "dpkg-deb": "Debian's package dpkg",
    "apt-get": "Debian's package apt; the image is made from Debian's packages",
    str(COMPILER): "Debian 12's package python3.11-minimal; it compiles what is in the image",
}
MAKE_A_KEY = "`.venv/bin/python -m tools.trixie cosign generate-key-pair --output-key-prefix ~/cosign` makes one"
LIMIT_SECONDS = 1800
"""For one step, on a busy machine."""


class ReleaseError(Exception):
    """A release cannot be made; the text says why, and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """What the steps need: the sources of the commit in a folder of their own, the commit, and its time in seconds.

    `packages` are Debian's of the image, for each architecture.
    """

    source: Path
    target: Path
    commit: str
    epoch: int
    packages: Mapping[str, Sequence[debs.Deb]]

    @property
    def environment(self) -> dict[str, str]:
        """The environment of builders, which take every time from it."""
        return {**os.environ, "SOURCE_DATE_EPOCH": str(self.epoch), "PYTHONPATH": "", "NO_MKDOCS_2_WARNING": "1"}


def release(folder: Path) -> list[Path]:
    """Make the files in `folder`, which is replaced, and return them; raises `ReleaseError` with nothing left behind."""
    problems = [*_missing(), *versions.problems(ROOT), *_changes()]
    if problems:
        raise ReleaseError("\n".join(problems))
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".making-", dir=folder.parent) as made:
        _try_key(Path(made))
        packages = debs.available(default_cache(), debs.ARCHITECTURES)
        _note_other_packages(packages)
        build = _checked_out(Path(made), packages)
        for step in STEPS:
            step(build)
        shutil.rmtree(folder, ignore_errors=True)
        build.target.rename(folder)
    return sorted(folder.iterdir())


def _missing() -> Iterator[str]:
    for name, how in NEEDED.items():
        if shutil.which(name) is None:
            yield f"{name} is not installed ({how})"
    key = os.environ.get(KEY)
    if key and not Path(key).is_file():
        yield f"{KEY}: there is no file {key}; {MAKE_A_KEY}"
    if key and "COSIGN_PASSWORD" not in os.environ:
        yield f"COSIGN_PASSWORD is not set: the password of {KEY}, empty if it has none"


def _changes() -> Iterator[str]:
    if shutil.which("git") is None:
        return
    changed = _git("status", "--porcelain").splitlines()
    if changed:
        named = ", ".join(line[3:] for line in changed[:3]) + (" and others" if len(changed) > 3 else "")
        yield f"the working tree has changes that no commit has: {named}; commit them, or stash them with `git stash -u`"


def _note_other_packages(packages: Mapping[str, Sequence[debs.Deb]]) -> None:
    """Print each package that differs from the lock, such as a security update, before the image is made."""
    for each in packages.values():
        for file in debs.unlocked(each):
            print(f"make release: note: deploy/image.lock has another {file}; `python -m tools.image --lock` renews it")


def _checked_out(work: Path, packages: Mapping[str, Sequence[debs.Deb]]) -> Build:
    """Unpack the commit: what git does not know has no part in a release."""
    source, target = work / "evictd", work / "release"
    target.mkdir()
    commit, epoch = _git("log", "-1", "--format=%H %ct").split()
    # Of files that the group may write, some versions of Python's tarfile take that away, and others do not.
    _git("-c", "tar.umask=0022", "archive", "--output", str(work / "commit.tar"), commit)
    unpack(work / "commit.tar", source)
    return Build(source=source, target=target, commit=commit, epoch=int(epoch), packages=packages)


def _git(*arguments: str) -> str:
    return run_tool("git", "-C", ROOT, *arguments)


def _packages(build: Build) -> None:
    run_tool(
        *(sys.executable, "-m", "build", "--no-isolation", "--outdir", build.target, build.source),
        environment=build.environment,
        seconds=LIMIT_SECONDS,
    )
    work = build.source.parent / "sdist"
    repacked(build.target / f"evictd-{__version__}.tar.gz", work, epoch=build.epoch)


def _debian(build: Build) -> None:
    for architecture in build.packages:
        command = (sys.executable, "-m", "tools.debian", build.target, architecture)
        run_tool(*command, environment=build.environment, folder=build.source, seconds=LIMIT_SECONDS)
        made = build.target / f"evictd_{__version__}_{architecture}.deb"
        made.rename(made.with_suffix(f".{platform.freedesktop_os_release()['VERSION_CODENAME']}.deb"))


def _image(build: Build) -> None:
    write_image(default_cache(), build.target / f"evictd-image-{__version__}.tar", build.packages)


def _chart(build: Build) -> None:
    archive, chart = build.target / f"evictd-chart-{__version__}.tgz", build.source / "deploy/chart/evictd"
    pack_compressed(chart, archive, epoch=build.epoch, top="evictd")
    metadata = yaml.safe_load((chart / "Chart.yaml").read_text(encoding="utf-8"))
    oci.write_chart(build.target / f"evictd-chart-{__version__}.oci.tar", archive, metadata)


def write_overlays(build: Build) -> None:
    """Write what kustomize makes of each overlay."""
    program = trixie.program("kubectl")
    for overlay in OVERLAYS:
        made = run_tool(program, "kustomize", build.source / "deploy" / overlay)
        (build.target / f"evictd-{Path(overlay).name}-{__version__}.yaml").write_text(made, encoding="utf-8")


def _documents(build: Build) -> None:
    site = build.source.parent / "site"
    command = (sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", site)
    run_tool(*command, environment=build.environment, folder=build.source, seconds=LIMIT_SECONDS)
    name = f"evictd-docs-{__version__}"
    pack_compressed(site, build.target / f"{name}.tar.gz", epoch=build.epoch, top=name)


def _proof(build: Build) -> None:
    packages, image = f"evictd-{__version__}.cdx.json", f"evictd-image-{__version__}.cdx.json"
    (build.target / packages).write_text(proof.packages_sbom(), encoding="utf-8")
    (build.target / image).write_text(proof.image_sbom(build.packages), encoding="utf-8")
    shutil.copy(build.source / "deploy/install.sh", build.target)
    statement = proof.provenance(
        sorted(build.target.iterdir()),
        commit=build.commit,
        inputs=[build.source / "constraints.txt", build.source / "deploy/Dockerfile"],
        debs=[deb for each in build.packages.values() for deb in each],
    )
    (build.target / f"evictd-{__version__}.intoto.json").write_text(statement, encoding="utf-8")
    sums = build.target / "SHA256SUMS"
    sums.write_text(checksums(build.target.iterdir()), encoding="utf-8")
    _sign(sums)


def write_bundle(build: Build) -> None:
    """Pack all files; install.sh first, so that it is taken out without reading the rest."""
    bundle = build.target / f"evictd-bundle-{__version__}.tar"
    script = build.target / "install.sh"
    files = [script, *(path for path in sorted(build.target.iterdir()) if path != script)]
    with tarfile.open(bundle, "w") as tar:
        for path in files:
            add_file(tar, path, path.name)
    sums = bundle.with_name(f"{bundle.name}.sha256")
    sums.write_text(checksums([bundle]), encoding="utf-8")
    _sign(bundle)


def _sign(path: Path) -> None:
    """Write PATH.sig with the given key, if there is one."""
    if key := os.environ.get(KEY):
        signature = path.with_name(f"{path.name}.sig")
        offline = ("--yes", "--tlog-upload=false", "--output-signature", signature)
        run_tool(trixie.program("cosign"), "sign-blob", "--key", Path(key).absolute(), *offline, path)


def _try_key(work: Path) -> None:
    """Sign a file, so that a wrong password is found before the work and not after it."""
    if os.environ.get(KEY):
        trixie.program("cosign")  # its absence is no fault of the key
    (work / "trial").touch()
    try:
        _sign(work / "trial")
    except NodeError as error:
        raise ReleaseError(
            f"{KEY}: cosign cannot sign with this key; is COSIGN_PASSWORD its password? {error}"
        ) from error


STEPS: tuple[Callable[[Build], None], ...] = (
    *(write_overlays, _chart, _packages, _debian, _image, _documents),
    *(_proof, write_bundle),
)
"""In order, the short ones first; each writes its files into the target. The proof is about all before it, and the bundle has
all files."""


def main(folder: Path) -> int:
    """Make a release and print its files with their sizes."""
    os.umask(0o022)  # modes are part of the files
    try:
        files = release(folder)
    except (ReleaseError, NodeError) as error:
        print(f"make release: {error}", file=sys.stderr)
        return 2
    for path in files:
        print(f"{path.stat().st_size:>12} {path.name}")
    print(f"{folder}: {len(files)} files" + ("" if os.environ.get(KEY) else f", not signed: {KEY} names no key"))
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build/release" / __version__))

"""The Debian packages of the image: the interpreter, and the libraries that its parts and the wheels of evictd's packages load.

apt names the file and the sum of each before anything is downloaded, also for another architecture than this machine's: with
lists of its own below the cache, from the same mirrors. `deploy/image.lock` has the sums of the packages of the last release.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from evictd.errors import NodeError
from evictd_testnode.tool import run_tool
from tools.packing import digest

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "deploy/image.lock"
PYTHON = "python3.11"
PACKAGES = (
    *(f"{PYTHON}-minimal", f"lib{PYTHON}-minimal", f"lib{PYTHON}-stdlib"),
    *("libc6", "libexpat1", "zlib1g", "libssl3", "libffi8", "libbz2-1.0", "liblzma5", "libuuid1"),
    *("libgcc-s1", "libstdc++6"),
)
ARCHITECTURES = {"amd64": "x86_64", "arm64": "aarch64"}
"""Debian's name of each architecture, which is also that of OCI, and the kernel's."""
_SOURCE = "deb [arch={architecture} signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $(REPO_URI) $(RELEASE) $(COMPONENT)"


class Deb(NamedTuple):
    """A package file of Debian's archive."""

    file: str
    sha256: str

    @property
    def name(self) -> str:
        """The package's name."""
        return self.file.split("_")[0]

    @property
    def version(self) -> str:
        """The package's version; apt writes the colon of an epoch as %3a."""
        return unquote(self.file.split("_")[1])


def available(cache: Path, architectures: Iterable[str]) -> dict[str, list[Deb]]:
    """List the packages of each architecture as the mirrors have them now; raises `NodeError` if one is not there."""
    return {each: _available(cache, each) for each in architectures}


def _available(cache: Path, architecture: str) -> list[Deb]:
    lines = _apt(cache, architecture, "download", "--print-uris").splitlines()
    found = [Deb(Path(name).name, sha256.removeprefix("SHA256:")) for _, name, _, sha256 in map(str.split, lines)]
    if len(found) != len(PACKAGES):
        raise NodeError(f"apt names {len(found)} of {len(PACKAGES)} packages of the image for {architecture}")
    return sorted(found)


def unpack(cache: Path, architecture: str, wanted: Iterable[Deb], work: Path) -> Path:
    """Download packages into the folder `work`, compare their sums, and return the folder in which they are unpacked."""
    _apt(cache, architecture, "download", folder=work)
    root = work / "root"
    for deb in wanted:
        path = work / deb.file
        if not path.is_file() or digest(path) != deb.sha256:
            raise NodeError(f"{deb.file}: not the file that apt names; `apt-get update`, then again")
        run_tool("dpkg-deb", "-x", work / deb.file, root)
    return root


def lock(debs: Iterable[Deb]) -> str:
    """Format the lines of deploy/image.lock, which are those of `sha256sum`."""
    return "".join(f"{deb.sha256}  {deb.file}\n" for deb in sorted(debs))


def unlocked(debs: Iterable[Deb], path: Path = LOCK) -> list[str]:
    """List the files that are not those of deploy/image.lock: an image of them is another one than that of the last release."""
    known = set(path.read_text(encoding="utf-8").splitlines())
    return [deb.file for deb in sorted(debs) if f"{deb.sha256}  {deb.file}" not in known]


def _apt(cache: Path, architecture: str, *command: str, folder: Path | None = None) -> str:
    """Run `apt-get COMMAND` for the packages; with new lists where those of the machine are of another architecture or empty."""
    environment = {**os.environ, "LC_ALL": "C"}
    native = run_tool("dpkg", "--print-architecture").strip() == architecture
    if not native:
        environment["APT_CONFIG"] = str(_foreign(cache / f"apt-{architecture}", architecture))
    call = ("apt-get", "-q", "-o", "APT::Sandbox::User=root")
    try:
        return run_tool(*call, *command, *PACKAGES, environment=environment, folder=folder)
    except NodeError:  # no lists yet, or old ones
        run_tool(*call, "update", environment=environment)
        return run_tool(*call, *command, *PACKAGES, environment=environment, folder=folder)


def _foreign(folder: Path, architecture: str) -> Path:
    """Write an apt configuration with the machine's Debian mirrors, security updates included, for another architecture."""
    for name in ("lists/partial", "cache/archives/partial", "parts"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    form = _SOURCE.format(architecture=architecture)
    sources = run_tool("apt-get", "indextargets", "--format", form, "Created-By: Packages", "Origin: Debian")
    lines = sorted(set(sources.splitlines()))
    (folder / "sources.list").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    config = folder / "apt.conf"
    config.write_text(
        f'Dir::State::lists "{folder}/lists";\nDir::State::status "{folder}/status";\nDir::Cache "{folder}/cache";\n'
        f'Dir::Etc::sourcelist "{folder}/sources.list";\nDir::Etc::sourceparts "{folder}/parts";\n'
        f'APT::Architecture "{architecture}";\nAPT::Architectures {{ "{architecture}"; }};\n',
        encoding="utf-8",
    )
    (folder / "status").touch()
    return config

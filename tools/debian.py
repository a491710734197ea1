"""Builds a Debian package: `python -m tools.debian [FOLDER [ARCH]]` (or `make deb`) writes evictd_VERSION_ARCH.deb.

The package holds a virtual environment under /usr/lib/evictd, since Debian's own Python is externally managed, with the pinned
versions of requirements.txt; the unit, a configuration that only reports (`dryRun: true`), man pages and shell completion.
The package of another architecture (amd64, arm64) has its wheels, which are not run. Nothing is written outside the given
folder. Needs dpkg-deb and Debian's python3-venv.
"""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from evictd import __version__
from tools import manual
from tools.debs import ARCHITECTURES
from tools.supply_chain import UNUSED, wheel_options

ROOT = Path(__file__).parents[1]
PYTHON = Path("/usr/bin/python3")
"""Debian's interpreter; the package depends on this minor version of it."""
HOME = Path("usr/lib/evictd")
UNITS = Path("usr/lib/systemd/system")
CONFFILE = Path("etc/evictd/config.yaml")
DOC = Path("usr/share/doc/evictd")
_PAGES = {".md", ".svg"}
"""The pages and their pictures, for a node without a network; the site is built from the same."""

_NOT_BUILT = shutil.ignore_patterns(".*", "build", "docs", "tests", "*.egg-info", "__pycache__")

_GONE = ("../", *(f"{each}/" for each in UNUSED))

Install = Callable[[Path], None]


def install_environment(folder: Path, requirements: Path = ROOT / "requirements.txt", architecture: str = "") -> None:
    """Make the virtual environment with evictd and what it requires, as if it lay in /usr/lib/evictd."""
    _run(str(PYTHON), "-m", "venv", "--without-pip", str(folder))
    site = next((folder / "lib").glob("python*/site-packages"))
    foreign = architecture not in {"", _architecture()}
    wheels = (*wheel_options(ARCHITECTURES[architecture], _python()), "--target", str(site)) if foreign else ()
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin/python3")]
    quiet = ["--quiet", "--disable-pip-version-check", "--no-compile"]
    pinned = ["--require-hashes", "--requirement", str(requirements)]
    _run(*pip, "install", *quiet, "--no-deps", *wheels, *pinned)
    shutil.rmtree(site / "bin", ignore_errors=True)  # console scripts, with --target
    # Of a copy: setuptools writes beside the sources, and packs what earlier builds left there.
    with tempfile.TemporaryDirectory() as copy:
        source = shutil.copytree(ROOT, Path(copy) / "evictd", ignore=_NOT_BUILT)
        _run(*pip, "install", *quiet, "--no-deps", "--no-build-isolation", str(source))
    _run(*pip, "uninstall", "--quiet", "--yes", "setuptools")  # it has built evictd
    for unused in UNUSED:
        if (site / unused).parent.exists():  # the virtual machine's package leaves that out as a whole
            shutil.rmtree(site / unused)
    for path in folder.rglob("direct_url.json"):
        path.unlink()  # names the directory of the checkout
    for path in folder.rglob("RECORD"):
        # The sums of console scripts, and of the file that names the checkout, are those of the place of the build; what is
        # unused is gone.
        lines = path.read_text().splitlines(keepends=True)
        path.write_text(
            "".join(line for line in lines if "/direct_url.json," not in line and not line.startswith(_GONE))
        )
    for path in [*(folder / "bin").iterdir(), folder / "pyvenv.cfg"]:
        if path.is_file() and not path.is_symlink():
            path.write_bytes(path.read_bytes().replace(bytes(folder), b"/" + bytes(HOME)))
    base = folder.parents[2]
    # By content and not by time, so that the same sources give the same files; anew what an import has compiled meanwhile.
    mode = ("-f", "--invalidation-mode", "unchecked-hash")
    _run(str(PYTHON), "-m", "compileall", "-q", *mode, "-s", str(base), "-p", "/", str(folder / "lib"))


def stage(root: Path, install: Install = install_environment, architecture: str = "") -> None:
    """Lay out the files of the package below `root`."""
    (root / HOME).mkdir(parents=True)
    install(root / HOME)
    (root / "usr/bin").mkdir(parents=True)
    (root / "usr/bin/evictd").symlink_to(f"/{HOME}/bin/evictd")
    deploy = ROOT / "deploy"
    for name in ("evictd.service", "evictd.slice"):
        _copy(deploy / name, root / UNITS / name)
    _copy(deploy / "evictd.tmpfiles", root / "usr/lib/tmpfiles.d/evictd.conf")
    _copy(deploy / "notify-reload.conf", root / "usr/share/evictd/notify-reload.conf")
    sample = (ROOT / "config/evictd.yaml").read_text(encoding="utf-8")
    _write(root / CONFFILE, _default(sample))
    for path in sorted((ROOT / "config").rglob("*")):
        if path.is_file():
            _copy(path, root / DOC / "examples" / path.relative_to(ROOT / "config"))
    for path in sorted((ROOT / "docs").rglob("*")):
        if path.suffix in _PAGES:
            _copy(path, root / DOC / path.relative_to(ROOT))
    _copy(ROOT / "LICENSE", root / DOC / "copyright")
    manual.write(root / "usr/share")
    _control(root, architecture or _architecture())


def build(folder: Path, install: Install = install_environment, *, architecture: str = "", level: int = 6) -> Path:
    """Build the package into `folder` and give its path; `folder/root` is made anew. `level` is that of xz, 0 to 9.

    Without an `architecture` it is for this machine's; `install` has to make the environment for it.
    """
    root = folder / "root"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    stage(root, install, architecture)
    package = folder / f"evictd_{__version__}_{architecture or _architecture()}.deb"
    _run("dpkg-deb", "--root-owner-group", "-Zxz", f"-z{level}", "--build", str(root), str(package))
    shutil.rmtree(root)
    return package


def _default(sample: str) -> str:
    """Return the configuration with which the package starts: the sample, a dry run, without its reference to the schema."""
    return "".join(line for line in sample.splitlines(keepends=True) if "yaml-language-server" not in line)


def _control(root: Path, architecture: str) -> None:
    major, minor = map(int, _python().split("."))
    fields = {
        "Package": "evictd",
        "Version": __version__,
        "Architecture": architecture,
        "Maintainer": "The evictd authors <evictd@localhost>",
        "Installed-Size": str(installed_size(root)),
        "Depends": f"python3 (>= {major}.{minor}), python3 (<< {major}.{minor + 1}), systemd (>= 247)",
        "Suggests": "containerd | cri-o",
        "Section": "admin",
        "Priority": "optional",
        "Description": "the kubelet's eviction manager as a daemon of its own\n"
        " It observes memory, disk space, inodes and process IDs of a node, reclaims what no pod\n"
        " needs, and evicts a pod when that is not enough.",
    }
    _write(root / "DEBIAN/control", "".join(f"{name}: {value}\n" for name, value in fields.items()))
    _write(root / "DEBIAN/conffiles", f"/{CONFFILE}\n")
    for name in ("postinst", "prerm", "postrm"):
        _copy(ROOT / "deploy/debian" / name, root / "DEBIAN" / name)
        (root / "DEBIAN" / name).chmod(0o755)


def installed_size(root: Path) -> int:
    """Return the KiB that the files below `root` need, by dpkg's rule: 1 for what is no regular file.

    The size of a directory depends on the file system, and on the files that were once in it.
    """
    files = (path.lstat() for path in root.rglob("*"))
    return sum(-(-each.st_size // 1024) if stat.S_ISREG(each.st_mode) else 1 for each in files)


def _python() -> str:
    return _run(str(PYTHON), "-c", "import sys; print(*sys.version_info[:2], sep='.')").strip()


def _architecture() -> str:
    return _run("dpkg", "--print-architecture").strip()


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(0o644)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o644)


def _run(*command: str) -> str:
    environment = {**os.environ, "PYTHONPATH": ""}
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout


def main(arguments: Sequence[str]) -> None:
    """Build the package of the named architecture, else of this machine's, into the named folder, else build/."""
    folder = Path(arguments[0]) if arguments else ROOT / "build"
    architecture = arguments[1] if len(arguments) > 1 else ""
    print(build(folder, partial(install_environment, architecture=architecture), architecture=architecture))


if __name__ == "__main__":
    main(sys.argv[1:])

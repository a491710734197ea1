"""The Debian package holds what an administrator needs, and its scripts are those of a well-behaved package.

The virtual environment, which needs an index of packages, is replaced by a file; `make deb` makes the real one.
"""

import gzip
import re
import shutil
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("shtab")
pytest.importorskip("argparse_manpage")

from evictd.cli import COMMANDS
from evictd.config.file import load
from tests.deploy.manifests import NODES, memory_faults
from tools import debian, manual

RUNBOOKS = Path(__file__).parents[2] / "docs/alerts.md"
pytestmark = pytest.mark.skipif(
    shutil.which("dpkg-deb") is None or not debian.PYTHON.exists(), reason="needs dpkg-deb and Debian's Python"
)


def install(folder: Path) -> None:
    (folder / "bin").mkdir()
    (folder / "bin/evictd").write_text("#!/usr/lib/evictd/bin/python3\n")


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return debian.build(tmp_path_factory.mktemp("deb"), install)


@pytest.fixture(scope="module")
def content(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("content")
    subprocess.run(["dpkg-deb", "--raw-extract", str(package), str(folder)], check=True)
    return folder


def test_that_of_another_architecture_has_its_wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the console scripts that pip then leaves beside the packages are not in it."""
    asked: list[str] = []

    def run(*command: str) -> str:
        if "--target" in command:
            asked.extend(command)
            (tmp_path / "lib/python3.11/site-packages/bin").mkdir()
        return "amd64\n" if command[0] == "dpkg" else "3.11\n"

    (tmp_path / "lib/python3.11/site-packages").mkdir(parents=True)
    monkeypatch.setattr(debian, "_run", run)
    monkeypatch.setattr(debian, "UNUSED", ())
    (tmp_path / "bin").mkdir()
    (tmp_path / "pyvenv.cfg").touch()
    debian.install_environment(tmp_path, architecture="arm64")
    assert {"--platform=manylinux2014_aarch64", "--only-binary=:all:", "--python-version=3.11"} <= set(asked)
    assert not (tmp_path / "lib/python3.11/site-packages/bin").exists()


def test_it_says_what_it_is(package: Path) -> None:
    shown = subprocess.run(["dpkg-deb", "--field", str(package)], check=True, capture_output=True, text=True).stdout
    fields = dict(line.split(": ", 1) for line in shown.splitlines() if not line.startswith(" "))
    assert fields["Package"] == "evictd"
    assert "python3 (>= 3." in fields["Depends"]
    assert "python3 (<< 3." in fields["Depends"]


def test_it_brings_unit_samples_and_scenarios(content: Path) -> None:
    units = content / debian.UNITS
    assert {path.name for path in units.iterdir()} == {"evictd.service", "evictd.slice"}
    examples = content / "usr/share/doc/evictd/examples"
    assert {path.name for path in examples.iterdir()} >= {"evictd.yaml", "evictd.schema.json", "scenarios"}
    assert (content / "usr/bin/evictd").readlink() == Path("/usr/lib/evictd/bin/evictd")


def test_it_brings_the_pages_that_the_program_names(content: Path) -> None:
    """`evictd explain-alert` names `docs/rollout.md`: it is there without a network."""
    pages = content / "usr/share/doc/evictd/docs"
    linked = {path for book in RUNBOOKS.read_text().split() for path in re.findall(r"\]\(([\w./-]+\.md)", book)}
    assert "rollout.md" in linked
    assert {path for path in linked if not (pages / path).is_file()} == set()
    assert (pages / "images/story.svg").is_file()


def test_it_starts_as_a_dry_run(content: Path) -> None:
    settings = load(content / debian.CONFFILE)
    assert settings.evictd.dry_run
    assert (content / "DEBIAN/conffiles").read_text() == f"/{debian.CONFFILE}\n"


@pytest.mark.parametrize("mebibytes", NODES)
def test_what_it_starts_with_fits_every_node(content: Path, tmp_path: Path, mebibytes: int) -> None:
    assert memory_faults(content / debian.CONFFILE, tmp_path, mebibytes) == []


@pytest.mark.parametrize("name", ["postinst", "prerm", "postrm"])
def test_the_scripts_are_shell_and_neither_enable_nor_start(content: Path, name: str) -> None:
    script = content / "DEBIAN" / name
    subprocess.run(["sh", "-n", str(script)], check=True)
    assert script.stat().st_mode & 0o777 == 0o755
    text = script.read_text()
    assert "set -e" in text
    assert "systemctl enable" not in text
    assert "systemctl start" not in text


def test_every_command_has_a_man_page(content: Path) -> None:
    folder = content / "usr/share/man/man1"
    names = {path.name for path in folder.iterdir()}
    assert names == {"evictd.1.gz", *(f"evictd-{name}.1.gz" for name in COMMANDS)}
    text = gzip.decompress((folder / "evictd-status.1.gz").read_bytes()).decode()
    assert ".SH NAME\nevictd\\-status \\- " in text


def test_the_shells_complete_every_command(content: Path) -> None:
    bash = content / "usr/share" / manual.COMPLETIONS["bash"]
    subprocess.run(["bash", "-n", str(bash)], check=True)
    for path in manual.COMPLETIONS.values():
        text = (content / "usr/share" / path).read_text()
        assert all(name in text for name in COMMANDS)


def test_the_installed_size_does_not_depend_on_the_place_of_the_build(tmp_path: Path) -> None:
    """A directory of ext4 keeps the size that it once had."""
    for root, more in ((tmp_path / "new", 0), (tmp_path / "used", 2000)):
        (root / "folder").mkdir(parents=True)
        (root / "folder" / "file").write_bytes(b"x" * 1025)
        (root / "link").symlink_to("folder")
        for number in range(more):
            (root / "folder" / f"{number:0100}").touch()
        for path in (root / "folder").glob("0*"):
            path.unlink()
    assert [debian.installed_size(tmp_path / name) for name in ("new", "used")] == [4, 4]

"""The wheel and the source distribution hold the samples, the schema, the scenarios and the unit."""

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("build", reason="needs the package `build`")

ROOT = Path(__file__).parents[2]
SHARED = [
    *sorted((ROOT / "config").glob("*.yaml")),
    ROOT / "config/evictd.schema.json",
    *sorted((ROOT / "config/scenarios").glob("*.yaml")),
    *sorted((ROOT / "config/worlds").glob("*.yaml")),
    ROOT / "deploy/evictd.service",
]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both, built from a copy of what git knows, so that this checkout stays as it is."""
    source, folder = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("dist")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=False, capture_output=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file() and not name.startswith("tests/"):
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, source / name)
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(source)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_the_wheel_installs_them_below_share(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = {Path(name).name for name in zipfile.ZipFile(wheel).namelist() if ".data/data/share/evictd/" in name}
    assert {path.name for path in SHARED} <= names


def test_the_wheel_has_the_messages_of_cri(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    assert "evictd/clients/cri/api.binpb" in zipfile.ZipFile(wheel).namelist()


def test_the_source_distribution_has_all_of_them(built: Path) -> None:
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        names = {name.partition("/")[2] for name in tar.getnames()}
    assert {str(path.relative_to(ROOT)) for path in SHARED} <= names
    assert {"docs/install.md", "mkdocs.yml", "deploy/chart/evictd/values.yaml", "CHANGELOG.md"} <= names

"""Every place that names evictd's version names the same one; `make release` refuses what these tests refuse."""

import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from evictd import __version__
from tools.versions import images, problems

ROOT = Path(__file__).parents[2]
PLACES = ("CHANGELOG.md", "deploy/chart/evictd/Chart.yaml", "deploy/Dockerfile", "docs/releases.md")


def test_each_place_names_this_version() -> None:
    assert list(problems(ROOT)) == []


def test_the_package_takes_its_version_from_the_code() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" not in project["project"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "evictd.__version__"}


def test_the_images_that_are_named_are_found() -> None:
    assert {path.name for path, _ in images(ROOT)} >= {"Dockerfile", "daemonset.yaml", "job.yaml", "install.md"}


@pytest.mark.parametrize(
    ("place", "change", "said"),
    [
        ("CHANGELOG.md", lambda text: text.replace(f"[{__version__}]", "[9.9.9]"), "CHANGELOG.md: begins with 9.9.9"),
        (
            "CHANGELOG.md",
            lambda text: f"## [{__version__}] - 2100-01-01\n{text}",
            f"CHANGELOG.md: {__version__} stands 2 times; a version is released once",
        ),
        ("CHANGELOG.md", lambda _: "# Changes\n", "CHANGELOG.md: has no version"),
        (
            "deploy/chart/evictd/Chart.yaml",
            lambda text: text.replace(f"appVersion: {__version__}", "appVersion: 0.0.1").replace(
                f'appVersion: "{__version__}"', 'appVersion: "0.0.1"'
            ),
            f"deploy/chart/evictd/Chart.yaml: appVersion is 0.0.1; set it to {__version__}",
        ),
        (
            "deploy/Dockerfile",
            lambda text: text.replace(f"evictd:{__version__}", "evictd:0.0.1"),
            f"deploy/Dockerfile: names the image evictd:0.0.1; name evictd:{__version__}",
        ),
        ("docs/releases.md", lambda text: text.replace("| supported |", "| ended |"), "docs/releases.md: the table of"),
    ],
    ids=["change log of another version", "a version twice", "no version", "chart", "image", "page of releases"],
)
def test_a_place_that_disagrees_is_named(tmp_path: Path, place: str, change: Callable[[str], str], said: str) -> None:
    for each in PLACES:
        (tmp_path / each).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / each, tmp_path / each)
    changed = tmp_path / place
    changed.write_text(change(changed.read_text(encoding="utf-8")), encoding="utf-8")
    assert any(line.startswith(said) for line in problems(tmp_path))

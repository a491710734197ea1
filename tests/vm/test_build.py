"""The name of a recipe changes only with the recipe."""

import shutil
from pathlib import Path

import pytest

from tests.vm import build


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    shutil.copy2(build.HERE / "provision.sh", tmp_path)
    shutil.copytree(build.HERE / "rootfs", tmp_path / "rootfs")
    return tmp_path


def test_the_same_recipe_has_the_same_name_wherever_it_lies(recipe: Path) -> None:
    assert build.recipe_key(recipe) == build.recipe_key()


def test_a_changed_file_makes_another_machine(recipe: Path) -> None:
    before = build.recipe_key(recipe)
    with (recipe / "rootfs" / "etc" / "containerd" / "config.toml").open("a") as config:
        config.write("\n# another line\n")
    assert build.recipe_key(recipe) != before


def test_a_renamed_file_makes_another_machine(recipe: Path) -> None:
    before = build.recipe_key(recipe)
    (recipe / "rootfs" / "etc" / "hosts").rename(recipe / "rootfs" / "etc" / "hosts.old")
    assert build.recipe_key(recipe) != before


@pytest.mark.parametrize(("asked", "release"), [(None, "bookworm"), ("", "bookworm"), ("forky", "forky")])
def test_the_machine_is_the_release_that_is_asked_for(
    asked: str | None, release: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(build.DISTRIBUTION, raising=False)
    if asked is not None:
        monkeypatch.setenv(build.DISTRIBUTION, asked)
    assert build.distribution() == release


def test_an_unknown_release_is_refused_with_those_that_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(build.DISTRIBUTION, "sarge")
    with pytest.raises(SystemExit, match="'sarge' is none of bookworm, trixie, forky"):
        build.distribution()

"""Names of a pod's author lead nowhere but below the directory that they are used in."""

from pathlib import Path

import pytest

from evictd.errors import NodeError
from evictd.observe.cgroups.file_descriptor_cache import VanishedError
from evictd.observe.untrusted_paths import is_safe_name, is_safe_path, open_below, opened
from tests.trees import plant


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/", "a\0b"])
def test_a_name_that_is_more_than_a_step_is_unsafe(name: str) -> None:
    assert not is_safe_name(name)


@pytest.mark.parametrize(
    "path", ["", "kubepods", "//", "/kubepods/../x", "/kubepods/./x", "/kubepods//x", "/kubepods/", "/a\0b"]
)
def test_a_path_that_does_not_go_straight_down_is_unsafe(path: str) -> None:
    assert not is_safe_path(path)


def test_ordinary_names_and_paths_are_safe() -> None:
    assert is_safe_name("3c6a..b")
    assert is_safe_path("/kubepods/burstable/pod1")
    assert not is_safe_path("kubepods/pod1")


def test_a_missing_folder_has_vanished_and_a_file_in_its_place_too(tmp_path: Path) -> None:
    plant(tmp_path, {"a": {"b": "x"}})
    with pytest.raises(VanishedError):
        open_below(tmp_path, ("a", "none"))
    with pytest.raises(VanishedError):
        open_below(tmp_path, ("a", "b"))
    with pytest.raises(NodeError, match="unsafe"):
        open_below(tmp_path, ("a", ".."))


def test_a_link_is_not_followed_and_what_is_opened_is_closed(tmp_path: Path) -> None:
    plant(tmp_path, {"elsewhere": {}, "pods": {"u": {}}})
    (tmp_path / "pods/link").symlink_to(tmp_path / "elsewhere")
    before = sum(1 for _ in Path("/proc/self/fd").iterdir())
    with pytest.raises(NodeError):
        open_below(tmp_path, ("pods", "link"))
    with opened(tmp_path / "pods") as pods, opened("u", pods), pytest.raises(NotADirectoryError), opened("link", pods):
        pass
    assert sum(1 for _ in Path("/proc/self/fd").iterdir()) == before

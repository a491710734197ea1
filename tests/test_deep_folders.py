"""What an earlier run has left is removed, however deep it is."""

from pathlib import Path

from _pytest import pathlib

from tests import deep_folders
from tests.act.test_trees import dig


def test_pytest_removes_a_folder_that_is_deeper_than_python_s_stack(tmp_path: Path) -> None:
    """A run that was killed left one, and all later ones ended with a RecursionError."""
    left = tmp_path / "left"
    left.mkdir()
    dig(left, 1500)
    pathlib.rm_rf(left)
    assert not left.exists()


def test_a_folder_that_may_not_be_listed_is_removed_as_pytest_does(tmp_path: Path) -> None:
    left = tmp_path / "left"
    (left / "closed").mkdir(parents=True)
    (left / "closed/file").touch()
    (left / "closed").chmod(0)
    deep_folders.remove(left)
    assert not left.exists()

"""Reserved files: what is in the way of the spare, and contents of any length."""

import json
import os
from pathlib import Path

import pytest

from evictd.daemon.store.reserved_file import ReservedFile, overwrite


def test_a_link_in_the_way_of_the_new_content_is_not_written_through(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("precious")
    (tmp_path / ".state.json.spare").symlink_to(elsewhere)
    ReservedFile(tmp_path / "state.json", 1).write(b"{}")
    assert elsewhere.read_text() == "precious"
    assert (tmp_path / "state.json").read_bytes() == b"{}"


def test_a_failed_replacement_leaves_the_old_content(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.mkdir()
    with pytest.raises(OSError, match=r"state\.json"):
        ReservedFile(path, 1).write(b"{}")
    assert path.is_dir()


def test_contents_of_any_length_are_read_back_without_their_filling(tmp_path: Path) -> None:
    fd = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    try:
        for length in (10, 5000, 3, 4096):
            overwrite(fd, json.dumps("x" * length).encode(), 4096)
            assert json.loads((tmp_path / "file").read_text()) == "x" * length
            assert (tmp_path / "file").stat().st_size % 4096 == 0
    finally:
        os.close(fd)

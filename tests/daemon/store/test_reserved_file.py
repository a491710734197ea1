"""Reserved files: what is in the way of the spare, and contents of any length."""

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from evictd.daemon.store.reserved_file import AT_LEAST, SIZE, EmergencyFile, ReservedFile, overwrite
from tests.mounted import tmpfs


@pytest.mark.parametrize("link", [Path.symlink_to, Path.hardlink_to])
def test_a_link_in_the_way_of_the_new_content_is_not_written_through(
    tmp_path: Path, link: Callable[[Path, Path], None]
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("precious")
    link(tmp_path / ".state.json.spare", elsewhere)
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


def refuses(times: int, error: int = errno.ENOSPC) -> tuple[list[int], Callable[[], None]]:
    """A job that fails so many times."""
    calls = list[int]()

    def job() -> None:
        calls.append(1)
        if len(calls) <= times:
            raise OSError(error, "no")

    return calls, job


def test_a_job_that_the_disk_refuses_is_done_again_without_the_file(tmp_path: Path) -> None:
    file = EmergencyFile(tmp_path / "dir/.emergency")
    file.make()
    assert (tmp_path / "dir/.emergency").stat().st_size == SIZE
    calls, job = refuses(1)
    file.write(job)
    assert len(calls) == 2
    assert not (tmp_path / "dir/.emergency").exists()
    file.write(job)
    assert (tmp_path / "dir/.emergency").exists(), "made again after a job that was done"


@pytest.mark.parametrize(("error", "made"), [(errno.EIO, True), (errno.ENOSPC, False)])
def test_another_error_and_a_file_that_is_not_there_change_nothing(tmp_path: Path, error: int, made: bool) -> None:
    file = EmergencyFile(tmp_path / ".emergency")
    if made:
        file.make()
    calls, job = refuses(9, error)
    with pytest.raises(OSError, match="no"):
        file.write(job)
    assert len(calls) == 1
    assert (tmp_path / ".emergency").exists() is made


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount")
def test_on_a_disk_that_is_nearly_full_it_is_not_made(tmp_path: Path) -> None:
    with tmpfs(tmp_path / "disk", size="16m") as point:
        ballast = point / "ballast"
        ballast.write_bytes(bytes((16 - AT_LEAST + 1) * SIZE))
        file = EmergencyFile(point / ".emergency")
        file.make()
        assert not (point / ".emergency").exists()
        ballast.unlink()
        file.make()
        assert (point / ".emergency").exists()

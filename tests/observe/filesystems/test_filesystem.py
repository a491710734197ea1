"""Reading filesystems, including ones that hang."""

import os
import threading
from pathlib import Path

import pytest

from evictd.core.model.stats import FsStats
from evictd.core.units.duration import MILLISECOND
from evictd.observe.filesystems.filesystem import FilesystemReader, fs_stats
from evictd.observe.reading.problems import Problems
from tests.kube.waiting import eventually
from tests.threads import no_thread_to_give

ANSWER = os.statvfs_result((4096, 1024, 1000, 400, 300, 500, 200, 190, 0, 255))


def statvfs_result(*, files: int, ffree: int) -> os.statvfs_result:
    return os.statvfs_result((4096, 1024, 1000, 400, 300, files, ffree, ffree, 0, 255))


def test_bytes_are_fragments_and_roots_reserve_is_not_available() -> None:
    assert fs_stats(ANSWER, 7) == FsStats(
        time=7,
        available_bytes=300 * 1024,
        capacity_bytes=1000 * 1024,
        used_bytes=600 * 1024,
        inodes_free=200,
        inodes=500,
        inodes_used=300,
    )


@pytest.mark.parametrize(
    ("flags", "read_only"), [(0, False), (os.ST_RDONLY, True), (os.ST_NOSUID | os.ST_RDONLY, True)]
)
def test_the_flag_of_a_read_only_mount_is_kept(flags: int, read_only: bool) -> None:
    answer = os.statvfs_result((4096, 1024, 1000, 400, 300, 500, 200, 190, flags, 255))
    assert fs_stats(answer, 7).read_only is read_only


def test_a_filesystem_without_inode_counts_loses_only_that_signal_with_one_problem() -> None:
    reader, problems = FilesystemReader(statvfs=lambda path: statvfs_result(files=0, ffree=0)), Problems()
    for _ in range(3):
        stats = reader.read(Path("/x"), "nodefs", 7, problems)
        assert stats is not None
        assert stats.available_bytes == 300 * 1024
        assert stats.inodes is stats.inodes_free is stats.inodes_used is None
    assert [(row.source, row.detail) for row in problems.found()] == [
        ("nodefs: inodes", "/x: this filesystem does not count inodes")
    ]
    reader.close()


def test_total_and_free_inodes_of_xfs_move_together() -> None:
    """As it fills, xfs has fewer inodes in all: both numbers are taken from the same answer."""
    answers = [statvfs_result(files=163840, ffree=163000), statvfs_result(files=512, ffree=8)]
    reader = FilesystemReader(statvfs=lambda path: answers.pop(0))
    seen = [reader.read(Path("/x"), "nodefs", 7, Problems()) for _ in range(2)]
    assert [(row.inodes, row.inodes_free) for row in seen if row is not None] == [(163840, 163000), (512, 8)]
    reader.close()


@pytest.mark.parametrize("number", [2, 5, 13])  # ENOENT, EIO, EACCES
def test_an_error_is_a_problem_and_no_number(number: int) -> None:
    def refuse(path: str) -> os.statvfs_result:
        raise OSError(number, os.strerror(number))

    reader, problems = FilesystemReader(statvfs=refuse), Problems()
    assert reader.read(Path("/x"), "imagefs", 7, problems) is None
    assert [row.source for row in problems.found()] == ["imagefs"]
    assert os.strerror(number) in problems.found()[0].detail
    reader.close()


@pytest.mark.parametrize("path", ["/a\0b", "/\ud800"])
def test_an_invalid_mount_point_is_one_problem_each_time(path: str) -> None:
    """The path comes from the runtime. It once ended the thread, and the filesystem then counted as hanging."""
    reader = FilesystemReader()
    for _ in range(3):
        problems = Problems()
        assert reader.read(Path(path), "imagefs", 7, problems) is None
        (problem,) = problems.found()
        assert "invalid path" in problem.detail
    reader.close()


def test_a_filesystem_without_a_size_is_not_full() -> None:
    """FUSE without statfs: pods were evicted one after the other for `imagefs.available<1Gi`."""
    reader, problems = FilesystemReader(statvfs=lambda _: os.statvfs_result((0,) * 10)), Problems()
    assert reader.read(Path("/x"), "imagefs", 7, problems) is None
    assert [each.detail for each in problems.found()] == ["/x: this filesystem does not say how large it is"]


@pytest.mark.parametrize(("free", "available", "inodes_free"), [(11, 1, 1), (1, 11, 1), (1, 1, 101)])
def test_more_free_than_there_is_cannot_be_true(free: int, available: int, inodes_free: int) -> None:
    answer = os.statvfs_result((4096, 4096, 10, free, available, 100, inodes_free, inodes_free, 0, 255))
    reader, problems = FilesystemReader(statvfs=lambda _: answer), Problems()
    assert reader.read(Path("/x"), "imagefs", 7, problems) is None
    assert [each.detail for each in problems.found()] == [
        "/x: this filesystem says that more of it is free than it has"
    ]
    reader.close()


@pytest.mark.parametrize("path", ["", "images", "."])
def test_a_path_of_the_runtime_is_not_one_in_evictds_own_directory(path: str) -> None:
    reader, problems = FilesystemReader(statvfs=lambda _: ANSWER), Problems()
    assert reader.read(Path(path), "imagefs", 7, problems) is None
    assert ["not an absolute path" in each.detail for each in problems.found()] == [True]


def test_an_unforeseen_error_does_not_end_the_thread() -> None:
    answers: list[os.statvfs_result | KeyError] = [KeyError("x"), ANSWER]

    def answer(path: str) -> os.statvfs_result:
        found = answers.pop(0)
        if isinstance(found, KeyError):
            raise found
        return found

    reader, problems = FilesystemReader(statvfs=answer), Problems()
    assert reader.read(Path("/x"), "nodefs", 7, problems) is None
    assert "KeyError" in problems.found()[0].detail
    assert reader.read(Path("/x"), "nodefs", 7, Problems()) == fs_stats(ANSWER, 7)
    reader.close()


def test_a_hanging_mount_is_waited_for_once_and_is_a_problem_until_it_responds() -> None:
    free, entered, asked = threading.Event(), threading.Event(), []

    def hang(path: str) -> os.statvfs_result:
        asked.append(path)
        entered.set()
        free.wait(300)
        return ANSWER

    reader, problems = FilesystemReader(statvfs=hang, timeout=20 * MILLISECOND), Problems()
    assert reader.read(Path("/x"), "nodefs", 1, problems) is None
    assert "this filesystem does not respond within 0.02 s" in problems.found()[0].detail
    assert entered.wait(60)
    for cycle in range(3):
        problems = Problems()
        assert reader.read(Path("/x"), "nodefs", cycle, problems) is None
        assert "still does not respond" in problems.found()[0].detail
    assert asked == ["/x"], "it is not read again while it hangs"
    free.set()
    assert eventually(lambda: reader.read(Path("/x"), "nodefs", 9, Problems())) == fs_stats(ANSWER, 9)
    reader.close()


def test_one_hanging_mount_does_not_keep_another_from_answering() -> None:
    free = threading.Event()

    def answer(path: str) -> os.statvfs_result:
        if path == "/hangs":
            free.wait(30)
        return ANSWER

    reader = FilesystemReader(statvfs=answer, timeout=20 * MILLISECOND)
    assert reader.read(Path("/hangs"), "nodefs", 1, Problems()) is None
    reader.read(Path("/fine"), "imagefs", 1, Problems())
    free.set()
    reader.close()


def test_the_numbers_of_this_machine_equal_those_of_df(tmp_path: Path) -> None:
    reader, problems = FilesystemReader(), Problems()
    stats, answer = reader.read(tmp_path, "nodefs", 1, problems), os.statvfs(tmp_path)
    assert stats is not None
    assert stats.capacity_bytes == answer.f_blocks * answer.f_frsize
    assert problems.found() == ()
    reader.close()


def test_a_node_without_a_free_thread_is_a_problem_and_the_next_reading_retries() -> None:
    reader, problems = FilesystemReader(statvfs=lambda path: ANSWER), Problems()
    with no_thread_to_give():
        assert reader.read(Path("/x"), "nodefs", 7, problems) is None
    assert [row.detail for row in problems.found()] == ["/x: no thread to read it with: can't start new thread"]
    assert reader.read(Path("/x"), "nodefs", 8, problems) is not None
    reader.close()

"""Nothing but a plain file of our own is opened, and nothing is waited for."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from evictd.act.conditions_file import ConditionsFile
from evictd.daemon.store.journal import JournalFile
from evictd.daemon.store.own_file import fault_of_directory, open_own, read_own
from evictd.daemon.store.reserved_file import ReservedFile
from evictd.daemon.store.state_file import StateFile
from evictd.errors import InputError


def linked(path: Path) -> None:
    path.symlink_to("/dev/zero")


MAKE: tuple[Callable[[Path], None], ...] = (os.mkfifo, linked, os.mkdir)


@pytest.mark.parametrize("make", MAKE)
def test_what_is_no_file_is_refused_at_once(tmp_path: Path, make: Callable[[Path], None]) -> None:
    """A FIFO hung the start, a link to /dev/zero used up the memory."""
    path = tmp_path / "file"
    make(path)
    with pytest.raises((InputError, OSError)):
        read_own(path, 1 << 10)
    with pytest.raises((InputError, OSError)):
        open_own(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)


@pytest.mark.parametrize("make", MAKE)
def test_no_file_of_the_state_directory_keeps_the_daemon_from_going_on(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    for name in ("conditions.json", "state.json", "journal.jsonl"):
        make(tmp_path / name)
    file = ReservedFile(tmp_path / "conditions.json", 64)
    before = ConditionsFile(file.path, node="n", replace_file=lambda *_: None, read_file=read_own)
    assert before.reported == {}
    with pytest.raises(InputError):
        StateFile(tmp_path / "state.json", "boot").read()
    with pytest.raises((InputError, OSError)):
        JournalFile(tmp_path / "journal.jsonl").append(b"{}\n")
    with suppress(OSError):  # a directory is in the way for good
        file.write(b"{}")
        assert read_own(file.path, 64).strip() == b"{}"


def test_a_file_is_read_up_to_its_bound(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"12345678")
    assert read_own(path, 8) == b"12345678"
    with pytest.raises(InputError, match="is larger than 7 bytes"):
        read_own(path, 7)
    with pytest.raises(FileNotFoundError):
        read_own(tmp_path / "none", 7)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give a file away")
def test_files_and_directories_of_other_users_are_named(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"")
    os.chown(path, 12345, 12345)
    with pytest.raises(InputError, match="belongs to user 12345"):
        read_own(path, 1)
    os.chown(tmp_path, 12345, 12345)
    assert "belongs to user 12345" in fault_of_directory(tmp_path)


def test_a_directory_that_others_may_write_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    assert fault_of_directory(tmp_path) == ""
    tmp_path.chmod(0o775)
    assert "may be written by others" in fault_of_directory(tmp_path)

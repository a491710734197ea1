"""One daemon to a state directory, by its inode and by its path."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from errno import EACCES
from pathlib import Path

import pytest

from evictd.daemon.store.lock import DEFAULT_RUNTIME_DIRECTORY, lock_directory, runtime_directory
from evictd.errors import NodeError
from tests.recorded_errors import NoErrors, RecordedErrors

HOLD = """
import sys
from contextlib import ExitStack
from pathlib import Path
from evictd.daemon.store.lock import lock_directory
from evictd.worker import STDERR
with ExitStack() as stack:
    lock_directory(Path(sys.argv[1]), Path(sys.argv[2]), stack, STDERR)
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Path]:
    """A state directory that another process holds; its runtime directory is beside it."""
    directory = tmp_path / "state"
    argv = [sys.executable, "-c", HOLD, str(directory), str(tmp_path / "run")]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        yield directory
        other.kill()


def take(directory: Path, runtime: Path) -> None:
    with ExitStack() as stack:
        lock_directory(directory, runtime, stack, NoErrors())


def test_a_directory_in_use_is_refused_by_either_lock(held: Path, tmp_path: Path) -> None:
    with pytest.raises(NodeError, match="another evictd"):
        take(held, tmp_path / "elsewhere")  # by the inode
    shutil.rmtree(held)
    with pytest.raises(NodeError, match="another evictd"):
        take(held, tmp_path / "run")  # by the path
    (tmp_path / "link").symlink_to(held)
    with pytest.raises(NodeError, match="another evictd"):
        take(tmp_path / "link", tmp_path / "run")


def test_daemons_with_different_directories_do_not_meet(held: Path, tmp_path: Path) -> None:
    take(held.with_name("other"), tmp_path / "run")


def test_the_locks_end_with_their_holder(tmp_path: Path) -> None:
    for _ in range(2):
        take(tmp_path / "state", tmp_path / "run")


def test_a_runtime_directory_that_cannot_be_used_is_reported_and_no_more(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("a file")
    errors = RecordedErrors()
    with ExitStack() as stack:
        lock_directory(tmp_path / "state", tmp_path / "run", stack, errors)
    assert [source for source, _ in errors] == ["lock"]


def test_the_runtime_directory_is_systemd_s_or_the_usual_one() -> None:
    assert runtime_directory({"RUNTIME_DIRECTORY": "/run/a:/run/b"}) == Path("/run/a")
    assert runtime_directory({}) == DEFAULT_RUNTIME_DIRECTORY


def test_a_state_directory_that_cannot_be_made_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(NodeError, match="stateDirectory"):
        take(tmp_path / "file" / "state", tmp_path / "run")


def test_a_state_directory_that_only_root_may_use_has_a_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`run` of a user said no more than `Permission denied`."""

    def denied(*_: object, **__: object) -> None:
        raise PermissionError(EACCES, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", denied)
    with pytest.raises(
        NodeError, match=r"Permission denied; use sudo, or name another directory with --state-directory"
    ):
        take(tmp_path / "state", tmp_path / "run")

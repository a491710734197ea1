"""Files of killed runs are removed, and those of running ones are not."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.vm import cache

HOLDER = """
import sys
from pathlib import Path
from tests.vm import cache
with cache.temporary(Path(sys.argv[1])) as path:
    print(path, flush=True)
    sys.stdin.read()
"""


def test_a_temporary_folder_goes_away_with_its_block(tmp_path: Path) -> None:
    with cache.temporary(tmp_path) as folder:
        (folder / "disk.img").write_bytes(b"x")
    assert not folder.exists()


def test_a_folder_in_use_survives_the_sweep_of_another_process(tmp_path: Path) -> None:
    with cache.temporary(tmp_path) as folder:
        assert cache.sweep(tmp_path) == []
        assert folder.exists()


def test_the_folder_of_a_killed_process_is_swept(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        folder = Path(holder.stdout.readline().strip())
        assert cache.sweep(tmp_path) == []
        holder.kill()
        holder.wait()
    assert cache.sweep(tmp_path) == [folder]
    assert not folder.exists()


def test_the_cache_lies_where_the_user_wants_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.cache_root() == tmp_path / "evictd" / "vm"


def test_a_folder_is_made_once_and_replaces_that_of_another_key(tmp_path: Path) -> None:
    root = tmp_path / "cache"
    made: list[Path] = []

    def make(folder: Path) -> None:
        (folder.parent / "download").touch()
        folder.mkdir()
        (folder / "content").touch()
        made.append(folder)

    (root / "other-old").mkdir(parents=True)
    for key in ("old", "new", "new"):
        finished = cache.ensure(root, "image", key, make)
        assert (finished, [path.name for path in finished.iterdir()]) == (root / f"image-{key}", ["content"])
    assert len(made) == 2
    assert {path.name for path in root.glob("*/")} == {"image-new", "other-old"}


def test_a_folder_whose_making_fails_is_not_there_and_the_last_one_stays(tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        folder.mkdir()
        raise RuntimeError

    cache.ensure(tmp_path, "image", "old", Path.mkdir)
    with pytest.raises(RuntimeError):
        cache.ensure(tmp_path, "image", "new", fail)
    assert [path.name for path in tmp_path.glob("*/")] == ["image-old"]

"""Repeated reading of `staticPodPath` with any content."""

import errno
import json
import os
from pathlib import Path

import pytest

from evictd.errors import InputError
from evictd.observe.pods.manifests import MAX_MANIFEST_BYTES, ManifestReader


def write(folder: Path, file: str, name: str, priority: int = 0) -> Path:
    path = folder / file
    data = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"priority": priority}}
    path.write_text(json.dumps(data))
    return path


def names(reader: ManifestReader) -> list[str]:
    return [manifest.pod.name for manifest in reader.read().found]


def test_every_file_is_a_pod_in_the_order_of_file_names(tmp_path: Path) -> None:
    write(tmp_path, "b.json", "second")
    write(tmp_path, "a.json", "first")
    assert names(ManifestReader(tmp_path)) == ["first", "second"]


def test_hidden_files_and_folders_are_left_out(tmp_path: Path) -> None:
    write(tmp_path, ".swp", "hidden")
    (tmp_path / "folder").mkdir()
    found = ManifestReader(tmp_path).read()
    assert (found.found, found.problems, found.complete) == ((), (), True)


def test_no_path_and_a_missing_folder_are_empty(tmp_path: Path) -> None:
    for path in (None, tmp_path / "missing"):
        found = ManifestReader(path).read()
        assert (found.found, found.problems, found.complete) == ((), (), True)


def test_a_single_file_is_a_path_too(tmp_path: Path) -> None:
    assert names(ManifestReader(write(tmp_path, "a.json", "only"))) == ["only"]


def test_a_changed_file_is_read_again_and_a_removed_one_dropped(tmp_path: Path) -> None:
    path = write(tmp_path, "a.json", "web")
    reader = ManifestReader(tmp_path)
    assert names(reader) == ["web"]
    write(tmp_path, "a.json", "renamed")
    assert names(reader) == ["renamed"]
    path.unlink()
    assert names(reader) == []


def test_a_file_that_breaks_keeps_its_last_good_meaning(tmp_path: Path) -> None:
    path = write(tmp_path, "a.json", "web")
    reader = ManifestReader(tmp_path)
    reader.read()
    path.write_text('{"apiVersion": "v1", "kin')
    found = reader.read()
    assert [manifest.pod.name for manifest in found.found] == ["web"]
    assert [problem.source for problem in found.problems] == ["manifests/'a.json'"]
    write(tmp_path, "a.json", "web2")
    found = reader.read()
    assert ([manifest.pod.name for manifest in found.found], found.problems) == (["web2"], ())


def test_a_file_that_could_not_be_read_is_read_in_the_next_cycle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a free descriptor, for example; its static pod would count as any other until the file changes."""
    write(tmp_path, "a.json", "web")
    reader = ManifestReader(tmp_path)

    def refuse(*_: object, **__: object) -> str:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    with monkeypatch.context() as patched:
        patched.setattr(Path, "read_text", refuse)
        assert len(reader.read().problems) == 1
    found = reader.read()
    assert ([manifest.pod.name for manifest in found.found], found.problems) == (["web"], ())


def test_a_file_that_was_gone_before_it_was_read_leaves_no_problem(tmp_path: Path) -> None:
    """As an editor's temporary file."""
    (tmp_path / "a.json").symlink_to(tmp_path / "absent")
    reader = ManifestReader(tmp_path)
    assert len(reader.read().problems) == 1
    (tmp_path / "a.json").unlink()
    assert reader.read().problems == ()


def test_every_bad_file_is_one_problem_of_one_line(tmp_path: Path) -> None:
    write(tmp_path, "good.json", "web")
    (tmp_path / "list.json").write_text("[1, 2]")
    (tmp_path / "deep.json").write_text('{"a":' * 100_000)
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe")
    (tmp_path / "new\nline.json").write_text("{}")
    os.mkfifo(tmp_path / "fifo.json")
    with (tmp_path / "huge.json").open("wb") as huge:
        huge.truncate(MAX_MANIFEST_BYTES + 1)
    found = ManifestReader(tmp_path).read()
    assert [manifest.pod.name for manifest in found.found] == ["web"]
    assert len(found.problems) == 6
    assert not any("\n" in problem.detail for problem in found.problems)


def test_yaml_is_read_by_the_loader_that_is_handed_in(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("kind: Pod")
    data = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "yaml"}}
    assert names(ManifestReader(tmp_path, lambda _: data)) == ["yaml"]
    assert "YAML" in ManifestReader(tmp_path).read().problems[0].detail

    def refuse(_: str) -> object:
        raise InputError("duplicate key")

    assert "duplicate key" in ManifestReader(tmp_path, refuse).read().problems[0].detail


def test_an_unreadable_directory_is_incomplete(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    found = ManifestReader(loop).read()
    assert not found.complete
    assert [problem.source for problem in found.problems] == ["manifests"]

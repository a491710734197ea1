"""What `make release` refuses, and that equal files make equal archives. No release is made here: that takes minutes."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.docs.test_version import PLACES, ROOT
from tools import debs, release, trixie
from tools.debs import Deb
from tools.packing import checksums, digest, pack_compressed, repacked
from tools.proof import provenance

DEB = Deb("libc6_2.36-9_amd64.deb", "00" * 32)
PROGRAMS = dict.fromkeys(("git", "dpkg-deb"), "a package")


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A committed tree with the files that name the version, as the place of the release."""
    root = tmp_path / "checkout"
    for each in PLACES:
        (root / each).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / each, root / each)
    author = {f"GIT_{who}_{what}": "tests@localhost" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "files"]):
        subprocess.run(["git", *command], cwd=root, check=True, env={**os.environ, **author})
    monkeypatch.setattr(release, "ROOT", root)
    monkeypatch.setattr(release, "NEEDED", PROGRAMS)
    monkeypatch.setattr(debs, "ARCHITECTURES", {})  # nothing is asked of a mirror
    monkeypatch.delenv(release.KEY, raising=False)
    return root


def test_a_tree_with_changes_is_refused_and_nothing_is_left(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (checkout / "new.txt").write_text("not committed")
    assert release.main(checkout / "build" / "release") == 2
    assert "new.txt; commit them, or stash them with `git stash -u`" in capsys.readouterr().err
    assert not (checkout / "build").exists()


def test_a_missing_program_is_named_with_the_way_to_get_it(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(release, "NEEDED", {**PROGRAMS, "no-such-program": "Debian's package none"})
    monkeypatch.setenv(release.KEY, str(checkout / "no.key"))
    assert release.main(checkout / "build") == 2
    said = capsys.readouterr().err
    assert "no-such-program is not installed (Debian's package none)" in said
    assert f"{release.KEY}: there is no file" in said


def test_a_key_that_does_not_sign_is_told_before_the_work(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cosign, key = checkout.parent / "cosign", checkout.parent / "cosign.key"
    cosign.write_text('#!/bin/sh\n[ "$COSIGN_PASSWORD" = right ] || { echo decryption failed >&2; exit 1; }\n')
    cosign.chmod(0o755)
    key.touch()
    monkeypatch.setattr(trixie, "program", lambda _: cosign)
    monkeypatch.setenv(release.KEY, str(key))
    monkeypatch.delenv("COSIGN_PASSWORD", raising=False)
    assert release.main(checkout.parent / "out" / "0.3.0") == 2
    assert "COSIGN_PASSWORD is not set: the password of" in capsys.readouterr().err
    monkeypatch.setenv("COSIGN_PASSWORD", "wrong")
    assert release.main(checkout.parent / "out" / "0.3.0") == 2
    assert "is COSIGN_PASSWORD its password?" in capsys.readouterr().err
    assert list((checkout.parent / "out").iterdir()) == []


def test_versions_that_differ_are_refused(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (checkout / "CHANGELOG.md").write_text("# Changes\n\n## [0.0.1] - 2026-01-01\n")
    assert release.main(checkout / "build") == 2
    assert "CHANGELOG.md: begins with 0.0.1" in capsys.readouterr().err


def test_a_step_that_fails_leaves_nothing(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(build: release.Build) -> None:
        (build.target / "half").write_text("half made")
        raise release.ReleaseError("the disk is full")

    monkeypatch.setattr(release, "STEPS", (fails,))
    (checkout.parent / "out").mkdir()
    assert release.main(checkout.parent / "out" / "0.3.0") == 2
    assert capsys.readouterr().err == "make release: the disk is full\n"
    assert list((checkout.parent / "out").iterdir()) == []


def test_the_files_appear_together(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def writes(build: release.Build) -> None:
        assert (build.source / "CHANGELOG.md").stat().st_mode & 0o777 == 0o644, "not as the umask of git archive"
        (build.target / "file").write_text(f"{len(build.commit)} {build.epoch > 0}")

    monkeypatch.setattr(release, "STEPS", (writes,))
    target = checkout.parent / "out" / "0.3.0"
    assert [path.read_text() for path in release.release(target)] == ["40 True"]


def test_the_same_files_make_the_same_archive_at_any_time(tmp_path: Path) -> None:
    made = []
    for name, time in (("first", 10**9), ("second", 2 * 10**9)):
        root = tmp_path / name
        (root / "deep").mkdir(parents=True)
        for path in (root / "b", root / "deep" / "a"):
            path.write_text("text")
            os.utime(path, (time, time))
            path.chmod(0o664 if name == "first" else 0o600)
        made.append(tmp_path / f"{name}.tar.gz")
        pack_compressed(root, made[-1], epoch=5)
    assert made[0].read_bytes() == made[1].read_bytes()
    repacked(made[1], tmp_path / "work", epoch=5)
    assert made[0].read_bytes() == made[1].read_bytes()
    assert checksums(made).splitlines()[0] == f"{digest(made[0])}  first.tar.gz"


def test_provenance_names_commit_inputs_and_the_sum_of_each_file(tmp_path: Path) -> None:
    (tmp_path / "wheel").write_bytes(b"made")
    (tmp_path / "pins").write_bytes(b"pinned")
    statement = json.loads(provenance([tmp_path / "wheel"], commit="abc", inputs=[tmp_path / "pins"], debs=[DEB]))
    assert statement["subject"] == [{"name": "wheel", "digest": {"sha256": digest(tmp_path / "wheel")}}]
    resolved = statement["predicate"]["buildDefinition"]["resolvedDependencies"]
    assert [each["digest"] for each in resolved] == [
        {"gitCommit": "abc"},
        {"sha256": digest(tmp_path / "pins")},
        {"sha256": DEB.sha256},
    ]

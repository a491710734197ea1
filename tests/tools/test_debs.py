"""Debian's packages of the image are known by file and sum before anything is downloaded."""

from pathlib import Path

import pytest

from evictd.errors import NodeError
from tools import debs
from tools.debs import Deb

ZLIB = Deb("zlib1g_1%3a1.2.13.dfsg-1_arm64.deb", "ab" * 32)
LIBC = Deb("libc6_2.36-9+deb12u14_arm64.deb", "cd" * 32)


def test_name_and_version_are_read_from_the_file() -> None:
    assert (ZLIB.name, ZLIB.version) == ("zlib1g", "1:1.2.13.dfsg-1")
    assert (LIBC.name, LIBC.version) == ("libc6", "2.36-9+deb12u14")


def test_a_package_that_is_not_the_locked_one_is_named(tmp_path: Path) -> None:
    path = tmp_path / "image.lock"
    path.write_text(debs.lock([ZLIB, LIBC]))
    assert debs.unlocked([LIBC, ZLIB], path) == []
    assert debs.unlocked([LIBC, ZLIB._replace(sha256="00" * 32)], path) == [ZLIB.file]


def test_the_lock_has_each_package_for_each_architecture() -> None:
    files = [Deb(name, sha256) for sha256, name in map(str.split, debs.LOCK.read_text().splitlines())]
    expected = sorted((name, each) for name in debs.PACKAGES for each in debs.ARCHITECTURES)
    assert sorted((deb.name, deb.file.rsplit("_", 1)[1].removesuffix(".deb")) for deb in files) == expected


def test_what_apt_names_is_listed_and_a_package_less_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = sorted(debs.PACKAGES)
    lines = [f"'http://localhost/{name}_1_arm64.deb' {name}_1_arm64.deb 7 SHA256:{'0' * 64}\n" for name in names]
    monkeypatch.setattr(debs, "_apt", lambda *_, **__: "".join(lines))
    assert [deb.name for deb in debs.available(tmp_path, ["arm64"])["arm64"]] == names
    lines.pop()
    with pytest.raises(NodeError, match=f"names {len(names) - 1} of {len(names)} packages of the image for arm64"):
        debs.available(tmp_path, ["arm64"])


def test_another_file_than_the_named_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def download(*_: object, folder: Path) -> str:
        (folder / LIBC.file).write_bytes(b"changed on the way")
        return ""

    monkeypatch.setattr(debs, "_apt", download)
    with pytest.raises(NodeError, match="not the file that apt names"):
        debs.unpack(tmp_path, "arm64", [LIBC], tmp_path)

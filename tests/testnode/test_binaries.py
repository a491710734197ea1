"""The sources of the binaries; nothing is installed for them."""

import os
import shutil
from pathlib import Path

import pytest

from evictd_testnode import binaries as binaries_module
from evictd_testnode.binaries import Binaries, Tool, default_cache
from evictd_testnode.tool import run_tool
from tests.binaries import node_binaries


def test_the_cache_is_where_a_user_expects_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/elsewhere")
    assert default_cache() == Path("/elsewhere/evictd")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/is/ignored")
    monkeypatch.setenv("HOME", "/home/someone")
    assert default_cache() == Path("/home/someone/.cache/evictd")


@pytest.mark.skipif(shutil.which("apt-config") is None, reason="not a Debian")
def test_packages_of_another_suite_do_not_depend_on_what_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else apt looks for the version of an installed package of the same name, such as a vendor's kubectl."""
    asked: list[str] = []

    def run(*argv: object, environment: dict[str, str] | None = None, folder: Path | None = None) -> str:
        if argv[0] == "apt-get" and environment:
            asked.append(run_tool("apt-config", "shell", "status", "Dir::State::status/f", environment=environment))
        if "download" in argv and folder:
            (folder / "root").mkdir()
        return ""

    monkeypatch.setattr(binaries_module, "debian_mirror", lambda: "http://localhost/debian/")
    monkeypatch.setattr(binaries_module, "run_tool", run)
    binaries_module.unpack_packages(tmp_path, "newer", ("kubectl",), suite="trixie")
    assert asked
    assert all(str(tmp_path) in each for each in asked)


def test_the_mirror_of_a_machine_without_lists_is_known_after_an_update(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new root directory has sources and no lists, and apt names no source of which it has none."""
    updated: list[bool] = []

    def run(*argv: object) -> str:
        if "update" in argv:
            updated.append(True)
            return ""
        return "http://localhost/debian/ main\n" if updated else ""

    monkeypatch.setattr(binaries_module, "run_tool", run)
    assert binaries_module.debian_mirror() == "http://localhost/debian/"
    assert binaries_module.debian_mirror() == "http://localhost/debian/"
    assert updated == [True]


@pytest.mark.root
@pytest.mark.containerd
def test_everything_a_node_needs_is_there_and_runs(binaries: Binaries, mkfs_xfs: Tool) -> None:
    assert "containerd" in run_tool(binaries.containerd, "--version")
    assert "runc" in run_tool(binaries.runc, "--version")
    assert "BusyBox" in run_tool(binaries.busybox, "--help")
    assert binaries.ctr.exists()
    assert binaries.containerd.with_name("containerd-shim-runc-v2").exists()
    assert "mkfs.xfs" in run_tool(mkfs_xfs.path, "-V", environment={**os.environ, **mkfs_xfs.environment})


@pytest.mark.root
@pytest.mark.containerd
def test_a_second_search_finds_the_same_without_a_download(binaries: Binaries, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")  # no apt-get, no dpkg-deb
    assert node_binaries(default_cache()) == binaries


@pytest.mark.root
@pytest.mark.containerd
def test_the_newer_containerd_is_newer(binaries: Binaries, newer_binaries: Binaries) -> None:
    usual, newer = (run_tool(each.containerd, "--version").split()[2] for each in (binaries, newer_binaries))
    assert newer.startswith("1.7")
    assert newer != usual

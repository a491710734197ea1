"""The second disk holds the files of the job, and none that only the host needs."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.vm import disk


def test_the_packages_of_evictd_and_pytest_come_along_with_what_they_need() -> None:
    names = set(disk.closure(["evictd", *disk.TEST_TOOLS]))
    assert {"evictd", "grpclib", "h2", "protobuf", "msgspec", "pytest", "pluggy"} <= names


def test_what_the_machine_has_no_use_for_stays_out() -> None:
    assert not {"kubernetes", "mypy", "matplotlib"} & set(disk.closure(["evictd", *disk.TEST_TOOLS]))


@pytest.mark.skipif(shutil.which("debugfs") is None, reason="needs e2fsprogs")
def test_results_are_read_back_without_a_mount(tmp_path: Path) -> None:
    out = tmp_path / "stage" / "out"
    out.mkdir(parents=True)
    (out / "junit.xml").write_text("<testsuites/>")
    image = tmp_path / "data.img"
    subprocess.run(["mke2fs", "-q", "-t", "ext4", "-d", out.parent, image, "8M"], check=True, capture_output=True)
    disk.unpack_results(image, tmp_path / "results")
    assert (tmp_path / "results" / "out" / "junit.xml").read_text() == "<testsuites/>"

"""Files directly in a directory, and single files."""

import os
from pathlib import Path

import pytest

from evictd.core.model.stats import DiskUsage
from evictd.observe.disk_usage.files_walk import FilesWalk, measure_file
from evictd.observe.disk_usage.rate_limiter import RateLimiter
from tests.observe.disk_usage.test_tree_walk import opened
from tests.trees import Device, Fifo, Link, plant


def files(folder: int) -> DiskUsage:
    walk = FilesWalk(folder, RateLimiter())
    assert [*walk.steps()]
    return walk.counted


def test_only_regular_files_of_the_folder_itself_are_added_up(tmp_path: Path) -> None:
    top = plant(
        tmp_path, {"0.log": "x" * 5000, "0.log.gz": "y", "sub": {"z": "z"}, "link": Link("0.log"), "pipe": Fifo()}
    )
    with opened(top) as folder:
        assert files(folder) == DiskUsage(8192 + 4096, 2)
        assert measure_file(folder, "0.log") == DiskUsage(8192, 1)
        for other in ("sub", "link", "pipe", "none"):
            assert measure_file(folder, other) is None


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_device_node_is_not_opened(tmp_path: Path) -> None:
    # A device that does not exist: opening it would fail with ENXIO.
    top = plant(tmp_path / "top", {"disk": Device(240, 99), "fifo": Fifo()})
    with opened(top) as folder:
        assert files(folder) == DiskUsage(0, 0)
        assert measure_file(folder, "disk") is None

"""Finds Prometheus' programs: the system's, or else Debian's package, unpacked into the cache; no service is installed."""

import shutil
from pathlib import Path

import pytest

from evictd.errors import NodeError
from evictd_testnode.binaries import default_cache, unpack_packages


def program(name: str) -> Path:
    """Find `prometheus` or `promtool`; skips the test where it cannot be had."""
    found = shutil.which(name)
    if found is not None:
        return Path(found)
    try:
        return unpack_packages(default_cache(), "prometheus", ("prometheus",)) / "usr/bin" / name
    except (NodeError, OSError) as error:
        pytest.skip(f"no {name} (Debian: prometheus): {error}")

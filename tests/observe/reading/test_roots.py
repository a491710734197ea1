"""Directories of the machine, and evictd's own pod."""

from pathlib import Path

import pytest

from evictd.observe.reading.roots import existing, own_pods


@pytest.mark.parametrize(("environ", "found"), [({}, set()), ({"POD_UID": ""}, set()), ({"POD_UID": "u"}, {"u"})])
def test_evictds_own_pod_is_named_by_the_environment(environ: dict[str, str], found: set[str]) -> None:
    assert own_pods(environ) == found


def test_the_nearest_existing_directory_stays_below_the_root(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/file").touch()
    assert existing(tmp_path / "a/b/c") == existing(tmp_path / "a/file") == existing(tmp_path / "a") == tmp_path / "a"
    assert existing(tmp_path / "x/y", tmp_path) == tmp_path
    assert existing(Path("/elsewhere"), tmp_path) == tmp_path

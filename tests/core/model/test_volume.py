"""Which volumes use the node's disk."""

import pytest

from evictd.core.model.volume import Volume, VolumeKind


@pytest.mark.parametrize(
    ("kind", "medium", "local"),
    [
        (VolumeKind.EMPTY_DIR, "", True),
        (VolumeKind.EMPTY_DIR, "Memory", False),
        (VolumeKind.EMPTY_DIR, "HugePages-2Mi", False),
        (VolumeKind.HOST_PATH, "", True),
        (VolumeKind.GIT_REPO, "", True),
        (VolumeKind.CONFIG_MAP, "", True),
        (VolumeKind.SECRET, "", False),
        (VolumeKind.PROJECTED, "", False),
        (VolumeKind.DOWNWARD_API, "", False),
        (VolumeKind.OTHER, "", False),
    ],
)
def test_volumes_of_the_node_s_disk_are_local(kind: VolumeKind, medium: str, local: bool) -> None:
    """Volumes in memory or on other storage are not."""
    assert Volume(name="v", kind=kind, medium=medium).local is local

"""TestAddContainerFsThresholds: containerfs follows nodefs or imagefs."""

import pytest

from evictd.core.eviction.containerfs import add_container_fs_thresholds, ignored_container_fs_thresholds
from evictd.core.model.observation import Filesystems
from evictd.core.model.threshold import Operator, Origin
from tests.playbook import DEDICATED, SINGLE, SPLIT, threshold

NODEFS = threshold("nodefs.available", "1Gi", min_reclaim="1Mi")
IMAGEFS = threshold("imagefs.available", "2Gi")
SOFT = threshold("nodefs.available", "3Gi", grace="1m")
OWN = threshold("containerfs.available", "9Gi")


@pytest.mark.parametrize(("filesystems", "value"), [(SINGLE, "1Gi"), (SPLIT, "1Gi"), (DEDICATED, "2Gi")])
def test_the_source_depends_on_the_layout(filesystems: Filesystems, value: str) -> None:
    """nodefs, but for a dedicated imagefs."""
    added = add_container_fs_thresholds((NODEFS, IMAGEFS), filesystems)[2]
    assert (added.signal.value, str(added.value.quantity), added.origin) == (
        "containerfs.available",
        value,
        Origin.DERIVED,
    )
    assert added.min_reclaim == (NODEFS.min_reclaim if value == "1Gi" else None)


def test_four_are_appended_in_a_fixed_order() -> None:
    """Hard and soft bytes, hard and soft inodes; without a source an inert one."""
    added = add_container_fs_thresholds((NODEFS, SOFT), SINGLE)[2:]
    assert [(t.signal.value, t.grace_period, t.operator) for t in added] == [
        ("containerfs.available", 0, Operator.LESS_THAN),
        ("containerfs.available", SOFT.grace_period, Operator.LESS_THAN),
        ("containerfs.inodesFree", 0, Operator.NONE),
        ("containerfs.inodesFree", 0, Operator.NONE),
    ]


def test_the_users_own_is_replaced_where_it_stands() -> None:
    """And named, so that somebody is told."""
    given = (OWN, NODEFS)
    assert ignored_container_fs_thresholds(given) == (OWN,)
    assert str(add_container_fs_thresholds(given, SINGLE)[0].value.quantity) == "1Gi"


def test_layers_apart_without_images_apart_derive_nothing() -> None:
    """Layout (false, true): left untouched."""
    odd = Filesystems(dedicated_image_fs=False, split_container_fs=True)
    assert add_container_fs_thresholds((OWN, NODEFS), odd) == (OWN, NODEFS)


def test_the_last_source_wins() -> None:
    """Several can only come from a program, but the rule is the kubelet's."""
    twice = (NODEFS, threshold("nodefs.available", "5Gi"))
    assert str(add_container_fs_thresholds(twice, SINGLE)[2].value.quantity) == "5Gi"

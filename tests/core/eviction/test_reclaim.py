"""What is collected for which signal, in the three layouts."""

from dataclasses import replace

import pytest

from evictd.core.eviction.reclaim import (
    Layout,
    add_container_fs_thresholds,
    device_of,
    freed_bytes,
    ignored_container_fs_thresholds,
    is_read_only,
    layout_of,
    node_reclaim_actions,
    only_measured,
    reclaim_node,
)
from evictd.core.model.config import EvictionConfig, ImageReclaim, Policy
from evictd.core.model.observation import Filesystems, Reclaim, ReclaimOutcome, SignalObservation
from evictd.core.model.signal import STALLS, Signal
from evictd.core.model.stats import FsStats, NodeStats
from evictd.core.model.threshold import Operator, Origin, Threshold
from evictd.core.units.quantity import of_bytes, of_count
from tests.playbook import DEDICATED, SINGLE, SPLIT, config, threshold

CONTAINERS, IMAGES, BOTH = ("containers",), ("images",), ("containers", "images")


@pytest.mark.parametrize(
    ("filesystems", "layout"),
    [
        (SINGLE, Layout.SINGLE),
        (DEDICATED, Layout.DEDICATED),
        (SPLIT, Layout.SPLIT),
        (Filesystems(dedicated_image_fs=False, split_container_fs=True), Layout.SINGLE),
    ],
)
def test_the_layout_has_a_name(filesystems: Filesystems, layout: Layout) -> None:
    """Split without images apart counts as single."""
    assert layout_of(filesystems) is layout


@pytest.mark.parametrize("suffix", ["available", "inodesFree"])
@pytest.mark.parametrize(
    ("layout", "nodefs", "imagefs", "containerfs"),
    [
        (Layout.SINGLE, BOTH, BOTH, BOTH),
        (Layout.DEDICATED, (), BOTH, BOTH),
        (Layout.SPLIT, CONTAINERS, IMAGES, CONTAINERS),
    ],
)
def test_the_kubelets_table(
    suffix: str, layout: Layout, nodefs: tuple[str, ...], imagefs: tuple[str, ...], containerfs: tuple[str, ...]
) -> None:
    """Bytes and inodes alike."""
    settings = config(policy=Policy.KUBELET)
    for filesystem, expected in (("nodefs", nodefs), ("imagefs", imagefs), ("containerfs", containerfs)):
        actions = node_reclaim_actions(Signal(f"{filesystem}.{suffix}"), layout, settings)
        assert tuple(action.value for action in actions) == expected


def test_standard_collects_containers_on_nodefs_with_images_apart() -> None:
    """The only entry that differs; as documented."""
    for signal in Signal:
        for layout in Layout:
            standard = node_reclaim_actions(signal, layout, config())
            kubelet = node_reclaim_actions(signal, layout, config(policy=Policy.KUBELET))
            differs = layout is Layout.DEDICATED and signal.value.startswith("nodefs")
            assert (standard != kubelet) is differs


@pytest.mark.parametrize(
    ("layout", "nodefs", "imagefs", "containerfs"),
    [(Layout.SINGLE, 3, 3, 3), (Layout.DEDICATED, 0, 3, 3), (Layout.SPLIT, 1, 2, 1)],
)
def test_only_bytes_on_the_signals_device_are_expected(
    layout: Layout, nodefs: int, imagefs: int, containerfs: int
) -> None:
    """Writable layers lie on containerfs, images on imagefs; which of the three are one device is the layout's."""
    outcomes = (
        ReclaimOutcome(action=Reclaim.CONTAINERS, freed_bytes=1),
        ReclaimOutcome(action=Reclaim.IMAGES, freed_bytes=2),
    )
    signals = (Signal.NODEFS_AVAILABLE, Signal.IMAGEFS_AVAILABLE, Signal.CONTAINERFS_AVAILABLE)
    assert tuple(freed_bytes(outcomes, signal, layout) for signal in signals) == (nodefs, imagefs, containerfs)


@pytest.mark.parametrize(
    ("layout", "signals"),
    [(Layout.SINGLE, {"nodefs", "imagefs", "containerfs"}), (Layout.DEDICATED, {"nodefs"})],
)
def test_a_device_is_read_only_for_every_signal_on_it(layout: Layout, signals: set[str]) -> None:
    """By what nodefs says here; without stats nothing is."""
    stats = NodeStats(fs=FsStats(read_only=True), image_fs=FsStats())
    found = {signal.value.partition(".")[0] for signal in Signal if is_read_only(stats, signal, layout)}
    assert found == signals
    assert not any(is_read_only(None, signal, layout) for signal in Signal)


def test_memory_and_pids_are_on_no_device() -> None:
    """Every disk signal is on one."""
    assert {signal for signal in Signal if device_of(signal, Layout.SINGLE) is None} == {
        Signal.MEMORY_AVAILABLE,
        Signal.ALLOCATABLE_MEMORY_AVAILABLE,
        Signal.PID_AVAILABLE,
        Signal.SWAP_AVAILABLE,
        *STALLS,
    }


@pytest.mark.parametrize("signal", ["memory.available", "allocatableMemory.available", "pid.available"])
def test_memory_and_pids_have_nothing_to_collect(signal: str) -> None:
    """Straight to the pods."""
    assert node_reclaim_actions(Signal(signal), Layout.SINGLE, config()) == ()


def test_what_is_switched_off_is_not_done() -> None:
    """`reclaim.images: Off` is what people with side-loaded images ask for."""
    off = config(reclaim_images=ImageReclaim.OFF)
    assert [a.value for a in node_reclaim_actions(Signal.NODEFS_AVAILABLE, Layout.SINGLE, off)] == ["containers"]
    off = config(reclaim_containers=False)
    assert [a.value for a in node_reclaim_actions(Signal.NODEFS_AVAILABLE, Layout.SINGLE, off)] == ["images"]


def wanted(short: Threshold, seen: SignalObservation, settings: EvictionConfig) -> int | None:
    """How many bytes are enough, as decided with one disk."""
    decision = reclaim_node(short, seen, Layout.SINGLE, settings)
    assert decision is not None
    return decision.wanted_bytes


def test_enough_says_how_much_up_to_the_minimum_reclaim() -> None:
    """Bytes only: inodes have no price per image."""
    settings = config(reclaim_images=ImageReclaim.ENOUGH)
    short = SignalObservation(available=of_bytes(2**20), capacity=of_bytes(2**30))
    one = threshold("nodefs.available", "2Mi", min_reclaim="1Mi")
    assert wanted(one, short, settings) == 2 * 2**20
    few = SignalObservation(available=of_count(1), capacity=of_count(100))
    assert wanted(threshold("nodefs.inodesFree", "5"), few, settings) is None
    assert wanted(one, short, config()) is None


@pytest.mark.parametrize(
    ("signal", "layout", "expected"),
    [
        ("nodefs.available", Layout.SINGLE, True),
        ("imagefs.inodesFree", Layout.SINGLE, True),
        ("nodefs.available", Layout.DEDICATED, True),
        ("imagefs.available", Layout.DEDICATED, False),
        ("containerfs.available", Layout.SPLIT, True),
        ("imagefs.available", Layout.SPLIT, False),
        ("memory.available", Layout.SINGLE, False),
    ],
)
def test_rotated_logs_go_where_they_lie_on_the_device_that_is_short(
    signal: str, layout: Layout, expected: bool
) -> None:
    on = EvictionConfig(reclaim_rotated_logs=True)
    assert (Reclaim.ROTATED_LOGS in node_reclaim_actions(Signal(signal), layout, on)) is expected
    assert only_measured(Signal(signal), layout, on) == ()
    off = EvictionConfig()
    assert Reclaim.ROTATED_LOGS not in node_reclaim_actions(Signal(signal), layout, off)
    assert (only_measured(Signal(signal), layout, off) == (Reclaim.ROTATED_LOGS,)) is expected
    kubelet = EvictionConfig(reclaim_rotated_logs=True, policy=Policy.KUBELET)
    assert Reclaim.ROTATED_LOGS not in node_reclaim_actions(Signal(signal), layout, kubelet)
    assert only_measured(Signal(signal), layout, replace(kubelet, reclaim_rotated_logs=False)) == ()


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

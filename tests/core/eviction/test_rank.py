"""Who goes first: the comparators of the kubelet with their numbers, and the three filesystem layouts."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from evictd.core.eviction.rank import rank, usage_meter
from evictd.core.eviction.reclaim import Layout
from evictd.core.model.config import PodGroup, Policy, Preferences
from evictd.core.model.pod import Pod
from evictd.core.model.resources import Volume, VolumeKind
from evictd.core.model.signal import Signal
from evictd.core.model.stats import DiskUsage, PodStats
from tests.playbook import empty_dir, number, pod, usage

BOTH = pytest.mark.parametrize("policy", Policy)


def order(
    signal: Signal, pods: Sequence[Pod], stats: Sequence[PodStats], policy: Policy, layout: Layout = Layout.SINGLE
) -> list[str]:
    """The names, first to go first."""
    return [row.name for row in rank(signal, pods, {s.uid: s for s in stats}, layout, policy)]


@BOTH
def test_memory_exceeding_the_request_comes_before_priority_and_priority_before_excess(policy: Policy) -> None:
    """TestOrderedByExceedsRequestMemory, ...PriorityMemory."""
    below = pod("below", memory="300Mi", priority=-1)
    high = pod("high", memory="100Mi", priority=1)
    low_small = pod("low-small", memory="100Mi")
    low_large = pod("low-large", memory="100Mi")
    stats = [
        usage(below, memory="200Mi"), usage(high, memory="900Mi"),
        usage(low_small, memory="200Mi"), usage(low_large, memory="300Mi"),
    ]  # fmt: skip
    got = order(Signal.MEMORY_AVAILABLE, [below, high, low_small, low_large], stats, policy)
    assert got == ["low-large", "low-small", "high", "below"]


@BOTH
def test_disk_orders_by_usage_minus_request(policy: Policy) -> None:
    """TestOrderedByDisk: 300, 250, 100, 10, -25 and -280 Mi in that order."""
    wanted = {
        "p300": (0, 300),
        "p250": (25, 275),
        "p100": (100, 200),
        "p10": (40, 50),
        "m25": (125, 100),
        "m280": (400, 120),
    }
    pods = [pod(name, storage=f"{request}Mi") for name, (request, _) in wanted.items()]
    stats = [usage(p, rootfs=f"{wanted[p.name][1]}Mi") for p in pods]
    assert order(Signal.NODEFS_AVAILABLE, pods[::-1], stats, policy) == list(wanted)


@BOTH
def test_pids_rank_by_priority_then_processes(policy: Policy) -> None:
    """TestOrderedByPriorityProcess."""
    pods = [pod("few"), pod("many"), pod("high", priority=1)]
    stats = [usage(p, processes=n) for p, n in zip(pods, (1, 20, 900), strict=True)]
    assert order(Signal.PID_AVAILABLE, pods, stats, policy) == ["many", "few", "high"]


def test_a_pod_without_stats_goes_first_in_the_kubelet_and_last_of_its_priority_here() -> None:
    """kubernetes/kubernetes#123591: a glitch kills an innocent (docs/parity.md, row 11)."""
    lost = pod("lost", memory="1Gi", priority=5)
    over, within = pod("over", memory="1Mi", priority=5), pod("within", memory="1Gi", priority=5)
    higher = pod("higher", memory="1Gi", priority=6)
    pods = [lost, over, within, higher]
    stats = [usage(over, memory="9Mi"), usage(within, memory="9Mi"), usage(higher, memory="9Mi")]
    kubelet = order(Signal.MEMORY_AVAILABLE, pods, stats, Policy.KUBELET)
    standard = order(Signal.MEMORY_AVAILABLE, pods, stats, Policy.STANDARD)
    assert kubelet == ["lost", "over", "within", "higher"]
    assert standard == ["over", "within", "lost", "higher"]


def test_missing_stats_and_pids() -> None:
    """Priority is compared first for PIDs, whatever is missing."""
    pods = [pod("lost"), pod("busy"), pod("low", priority=-1)]
    stats = [usage(p, processes=5) for p in pods[1:]]
    assert order(Signal.PID_AVAILABLE, pods, stats, Policy.KUBELET) == ["low", "lost", "busy"]
    assert order(Signal.PID_AVAILABLE, pods, stats, Policy.STANDARD) == ["low", "busy", "lost"]


def test_inode_ranking_subtracts_bytes_in_the_kubelet_only() -> None:
    """docs/parity.md, row 13: a request of 1Gi makes a hog of inodes look modest."""
    hog, small = pod("hog", storage="1Gi"), pod("small")
    stats = [usage(hog, inodes=90_000), usage(small, inodes=100)]
    assert order(Signal.NODEFS_INODES_FREE, [hog, small], stats, Policy.KUBELET) == ["small", "hog"]
    assert order(Signal.NODEFS_INODES_FREE, [hog, small], stats, Policy.STANDARD) == ["hog", "small"]


@BOTH
def test_equals_are_ordered_by_namespace_name_and_uid(policy: Policy) -> None:
    """The kubelet leaves this to chance."""
    pods = [pod("b", namespace="x"), pod("a", namespace="y"), pod("a", namespace="x")]
    pods = [pod(p.name, namespace=p.namespace, uid=f"{p.namespace}{p.name}") for p in pods]
    stats = [usage(p, memory="1Mi") for p in pods]
    rows = rank(Signal.MEMORY_AVAILABLE, pods, {s.uid: s for s in stats}, Layout.SINGLE, policy)
    assert [row.uid for row in rows] == ["xa", "xb", "ya"]


MIXED = pod(
    "mixed",
    volumes=[
        empty_dir("disk"),
        empty_dir("shm", medium="Memory"),
        Volume(name="host", kind=VolumeKind.HOST_PATH),
        Volume(name="token", kind=VolumeKind.SECRET),
        Volume(name="settings", kind=VolumeKind.CONFIG_MAP),
    ],
)
MIXED_USAGE = usage(
    MIXED,
    rootfs="1",
    logs="10",
    volumes={"disk": "100", "shm": "1000", "host": "10000", "token": "100000", "settings": "1000000"},
)
VOLUMES = 1010100


@pytest.mark.parametrize(
    ("layout", "nodefs", "imagefs", "containerfs"),
    [
        (Layout.SINGLE, VOLUMES + 11, VOLUMES + 11, VOLUMES + 11),
        (Layout.DEDICATED, VOLUMES + 10, 1, 1),
        (Layout.SPLIT, VOLUMES + 11, 0, VOLUMES + 11),
    ],
)
def test_what_counts_depends_on_where_it_lies(layout: Layout, nodefs: int, imagefs: int, containerfs: int) -> None:
    """Writable layer, logs and local volumes by layout; memory-backed and secret volumes never."""
    expected = {
        Signal.NODEFS_AVAILABLE: nodefs,
        Signal.IMAGEFS_AVAILABLE: imagefs,
        Signal.CONTAINERFS_AVAILABLE: containerfs,
    }
    assert {signal: usage_meter(signal, layout)(MIXED, MIXED_USAGE) for signal in expected} == expected


def test_a_pod_without_a_number_is_unmeasured_but_under_the_kubelet() -> None:
    """TestFallbackResourcesUsage: there, nothing known is nothing used, once there are stats at all."""
    one, empty = pod("a"), PodStats(name="a", namespace="default", uid="a")
    for signal in Signal:
        if signal is Signal.SWAP_AVAILABLE:
            continue  # which policy Kubelet does not rank for
        [kubelet] = rank(signal, (one,), {"a": empty}, Layout.SINGLE, Policy.KUBELET)
        [standard] = rank(signal, (one,), {"a": empty}, Layout.SINGLE, Policy.STANDARD)
        assert (kubelet.usage, standard.usage) == (0, None)


def test_parts_without_a_number_add_nothing_to_those_that_have_one() -> None:
    """And where no part of a pod counts, it is known to use nothing."""
    one = pod("a")
    assert usage_meter(Signal.NODEFS_AVAILABLE, Layout.SINGLE)(one, usage(one, logs="5Mi")) == number("5Mi")
    assert usage_meter(Signal.IMAGEFS_AVAILABLE, Layout.SPLIT)(one, usage(one)) == 0


def test_a_pod_of_unknown_volumes_is_unmeasured_where_volumes_count() -> None:
    """Its layer alone is less than it uses: as the smaller one of two pods the hog stayed and the other went."""
    hog, other = replace(pod("hog"), volumes_known=False), pod("other")
    stats = {"hog": usage(hog, rootfs="12Ki"), "other": usage(other, rootfs="30Mi")}
    single = rank(Signal.NODEFS_AVAILABLE, (hog, other), stats, Layout.SINGLE, Policy.STANDARD)
    assert {row.uid: row.usage for row in single} == {"hog": None, "other": number("30Mi")}
    layers = rank(Signal.IMAGEFS_AVAILABLE, (hog, other), stats, Layout.DEDICATED, Policy.STANDARD)
    assert {row.uid: row.usage for row in layers} == {"hog": number("12Ki"), "other": number("30Mi")}


def test_deleted_files_that_are_open_count_where_they_lie() -> None:
    hog = replace(
        usage(pod("hog"), rootfs="1Mi"), deleted_layer=DiskUsage(70 << 20, 2), deleted_local=DiskUsage(5 << 20, 1)
    )
    for signal, layout, used in (
        (Signal.NODEFS_AVAILABLE, Layout.SINGLE, 76 << 20),
        (Signal.NODEFS_AVAILABLE, Layout.DEDICATED, 5 << 20),
        (Signal.IMAGEFS_AVAILABLE, Layout.DEDICATED, 71 << 20),
        (Signal.NODEFS_INODES_FREE, Layout.DEDICATED, 1),
    ):
        assert usage_meter(signal, layout)(pod("hog"), hog) == used


def test_memory_usage_is_the_working_set_of_the_pod() -> None:
    """Not the sum of its containers."""
    one = pod("a")
    assert usage_meter(Signal.MEMORY_AVAILABLE, Layout.SINGLE)(one, usage(one, memory="5Mi")) == number("5Mi")


_RANKED = {
    "batch": pod("batch", memory="100Mi", priority=9, namespace="batch"),
    "plain": pod("plain", memory="100Mi", priority=5),
    "asked": pod("asked", memory="100Mi", priority=8, labels={"evict": "first", "app": "a"}),
    "db": pod("db", memory="100Mi", namespace="data", labels={"tier": "db"}),
    "within": pod("within", memory="900Mi", namespace="batch"),
}
_USE = {p.uid: usage(p, memory="200Mi", processes=5) for p in _RANKED.values()}
_PREFERENCES = Preferences(
    prefer=(PodGroup(namespaces=frozenset({"batch"})), PodGroup(labels={"evict": "first"})),
    avoid=(PodGroup(namespaces=frozenset({"data"}), labels={"tier": "db"}),),
)


@pytest.mark.parametrize(
    ("signal", "policy", "wanted"),
    [
        (Signal.MEMORY_AVAILABLE, Policy.STANDARD, ["asked", "batch", "plain", "db", "within"]),
        (Signal.PID_AVAILABLE, Policy.STANDARD, ["within", "asked", "batch", "plain", "db"]),
        (Signal.MEMORY_AVAILABLE, Policy.KUBELET, ["db", "plain", "asked", "batch", "within"]),
    ],
)
def test_preferences_come_after_the_request_and_before_the_priority(
    signal: Signal, policy: Policy, wanted: list[str]
) -> None:
    """PIDs have no request; policy Kubelet has no preferences."""
    rows = rank(signal, _RANKED.values(), _USE, Layout.SINGLE, policy, preferences=_PREFERENCES)
    assert [row.name for row in rows] == wanted


def test_a_pod_that_is_preferred_and_avoided_is_avoided() -> None:
    """An owner can so make an exception within a namespace that is preferred."""
    both = Preferences(prefer=(PodGroup(namespaces=frozenset({"data"})),), avoid=_PREFERENCES.avoid)
    pods = [_RANKED["db"], replace(_RANKED["db"], uid="cache", labels={})]
    rows = rank(Signal.PID_AVAILABLE, pods, _USE, Layout.SINGLE, Policy.STANDARD, preferences=both)
    assert [(row.uid, row.preference) for row in rows] == [("cache", -1), ("db", 1)]


def test_what_a_pod_has_in_swap_counts_for_memory_under_standard() -> None:
    """Else the pod that was swapped out looks small and another one goes (kubernetes/kubernetes#120800, #129578)."""
    swapper, other = pod("swapper", memory="1Gi"), pod("other", memory="1Gi")
    stats = {"swapper": usage(swapper, memory="900Mi"), "other": usage(other, memory="1100Mi")}
    assert stats["swapper"].memory is not None
    stats["swapper"] = replace(stats["swapper"], memory=replace(stats["swapper"].memory, swap_bytes=number("500Mi")))

    def first(policy: Policy, signal: Signal = Signal.MEMORY_AVAILABLE) -> tuple[str, int | None]:
        row = rank(signal, (swapper, other), stats, Layout.SINGLE, policy)[0]
        return row.name, row.usage

    assert first(Policy.STANDARD) == ("swapper", number("1400Mi"))
    assert first(Policy.STANDARD, Signal.PODS_MEMORY_FULL_10) == ("swapper", number("1400Mi"))
    assert first(Policy.KUBELET) == ("other", number("1100Mi"))


@BOTH
def test_among_equals_namespace_name_and_uid_decide_in_this_order(policy: Policy) -> None:
    """A pod that was made again has the name of the one before it."""
    places = (("b", "a", "1"), ("a", "z", "3"), ("a", "b", "9"), ("a", "b", "5"))
    pods = [pod(name, namespace=namespace, uid=uid) for namespace, name, uid in places]
    stats = {each.uid: usage(each, memory="1Mi", processes=1) for each in pods}
    for signal in (Signal.MEMORY_AVAILABLE, Signal.PID_AVAILABLE):
        rows = rank(signal, pods, stats, Layout.SINGLE, policy)
        assert [row.uid for row in rows] == ["5", "9", "3", "1"]


@BOTH
def test_priority_comes_before_what_is_not_measured_where_pids_are_short(policy: Policy) -> None:
    low, unread = pod("low", priority=-1), pod("unread")
    rows = rank(Signal.PID_AVAILABLE, (unread, low), {"low": usage(low, processes=1)}, Layout.SINGLE, policy)
    assert [(row.name, row.request) for row in rows] == [("low", 0), ("unread", 0)]

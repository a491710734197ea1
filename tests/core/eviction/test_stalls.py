"""Thresholds on stalled tasks: thrashing that no other signal shows (policy Standard)."""

from dataclasses import replace

import pytest

from evictd.core.eviction.refusals.eviction_method import is_hard
from evictd.core.model.config import EvictionConfig, ImageReclaim, stall_signals
from evictd.core.model.decision import RecordEvent, Wait
from evictd.core.model.finding import NoActionReason, RankedPod, Ranking
from evictd.core.model.pod import Pod, PodSource
from evictd.core.model.resources import Container
from evictd.core.model.signal import ALL_OF_THE_TIME, STALLS, Signal
from evictd.core.model.threshold import Threshold, ThresholdValue, stall_threshold
from evictd.core.units.duration import MINUTE, SECOND
from evictd.core.units.quantity import of_count, parse_quantity
from tests.playbook import Playbook, as_kubelet, config, empty_dir, pod, usage

FULL, IO = Signal.PODS_MEMORY_FULL_10, Signal.PODS_IO_FULL_10
A = pod("a", memory="100Mi", grace=30)
B = pod("b", memory="100Mi", grace=30)
C = pod("c", memory="1Gi", grace=30)
CALM = "3Gi of 4Gi"


def thrashing(
    signal: Signal = FULL, *, duration: int = 20 * SECOND, hard: bool = False, grace: int = 10
) -> EvictionConfig:
    """Above 20 % of the time, beside a hard threshold on memory."""
    base = config(hard={"memory.available": "100Mi"}, max_pod_grace_period_seconds=grace)
    return replace(base, thresholds=(*base.thresholds, stall_threshold(signal, 2000, duration=duration, hard=hard)))


def test_a_stall_evicts_although_memory_is_available_and_the_average_may_fall_before_a_second_pod_goes() -> None:
    stalled = [usage(A, memory="700Mi", stall=50), usage(B, memory="600Mi", stall=50)]
    book = Playbook(thrashing(), pods=[A, B], usage=stalled)
    book.at("0s", memory=CALM, stall=31.2).conditions("MemoryPressure")
    book.at("19s", memory=CALM, stall=60).does_nothing()
    book.at("20s", memory=CALM, stall=60).evicts("a", grace=10)
    assert "Stalled: pods.memory.full.avg10 60%, threshold 20% for 20s. " in book.eviction().message
    book.at("21s", memory=CALM, stall=60, gone=()).stays_silent(NoActionReason.WAITING_FOR_VICTIM)
    book.at("25s", memory=CALM, stall=50).stays_silent(NoActionReason.WAITING_FOR_RELEASE)
    book.at("44s", memory=CALM, stall=40).stays_silent(NoActionReason.WAITING_FOR_RELEASE)
    book.at("45s", memory=CALM, stall=40).evicts("b")


def test_a_stall_that_ends_costs_no_second_pod() -> None:
    stalled = [usage(A, memory="700Mi", stall=50), usage(B, memory="600Mi", stall=50)]
    book = Playbook(thrashing(), pods=[A, B], usage=stalled)
    book.at("0s", memory=CALM, stall=30).conditions("MemoryPressure")
    book.at("20s", memory=CALM, stall=30).evicts("a")
    book.at("30s", memory=CALM, stall=19.99).does_nothing()
    book.at("60s", memory=CALM, stall=20).does_nothing()  # equal is not above


def test_the_window_of_the_average_bounds_the_wait() -> None:
    book = Playbook(
        thrashing(Signal.PODS_MEMORY_SOME_60, duration=0),
        pods=[A, B],
        usage=[usage(A, memory="700Mi", stall=50), usage(B, memory="600Mi", stall=50)],
    )
    book.at("0s", memory=CALM, stall=60).conditions("MemoryPressure").evicts("a", grace=1)
    book.at("1s", memory=CALM, stall=60).stays_silent(NoActionReason.WAITING_FOR_RELEASE)
    book.at("120s", memory=CALM, stall=60).stays_silent(NoActionReason.WAITING_FOR_RELEASE)
    book.at("121s", memory=CALM, stall=60).evicts("b")


def test_the_victim_of_another_shortage_is_waited_for() -> None:
    """What it frees may end the stall as well."""
    book = Playbook(thrashing(duration=0), pods=[A, B], usage=[usage(A, memory="700Mi"), usage(B, memory="600Mi")])
    book.at("0s", memory="50Mi of 4Gi", stall=90).conditions("MemoryPressure").evicts("a")
    book.at("1s", memory=CALM, stall=90, gone=()).stays_silent(NoActionReason.WAITING_FOR_VICTIM)
    book.at("2s", memory=CALM, stall=90).stays_silent(NoActionReason.WAITING_FOR_RELEASE)


def test_pods_that_exceed_limits_of_their_own_one_after_another_do_not_hold_up_a_stall() -> None:
    """One that goes as the threshold becomes due may be what stalls the node. Those that go a minute later are not waited for."""
    crowd = [pod(f"loop-{n}", volumes=[empty_dir("v", size_limit="1Gi")]) for n in range(9)]
    book = Playbook(thrashing(duration=0), pods=[A], usage=[usage(A, memory="700Mi", stall=50)])
    for n, each in enumerate(crowd):
        book.pods = (A, each)
        book.usage[each.uid] = usage(each, memory="1Mi", volumes={"v": "2Gi"})
        book.at(f"{10 * n}s", memory=CALM, stall=50)
        book.left.clear()
        if book.gone & {"a"}:
            break
    assert book.state.in_flight[-1].uid == "a"
    assert n == 8, "the last that counts is chosen at 50 s, is gone at 60 s, and its average takes 20 s"


def test_the_victim_of_a_disk_neither_holds_up_a_memory_stall_nor_is_shortened_by_it() -> None:
    """It was chosen for its files: its end need not end the stall, and its grace is that of a soft threshold."""
    disk = config(
        soft={"nodefs.available": ("10%", "1s")},
        max_pod_grace_period_seconds=30,
        reclaim_containers=False,
        reclaim_images=ImageReclaim.OFF,
    )
    stall = stall_threshold(FULL, 2000, duration=0, hard=True)
    filler, thrasher = usage(A, rootfs="8Gi", memory="10Mi"), usage(B, memory="700Mi", stall=90)
    book = Playbook(replace(disk, thresholds=(*disk.thresholds, stall)), pods=[A, B], usage=[filler, thrasher])
    book.at("0s", memory=CALM, nodefs="500Mi of 10Gi", stall=0).conditions("DiskPressure")
    book.at("1s", memory=CALM, nodefs="500Mi of 10Gi", stall=0).evicts("a", grace=30)
    book.at("2s", memory=CALM, nodefs="500Mi of 10Gi", stall=90, gone=()).conditions(
        "MemoryPressure", "DiskPressure"
    ).evicts("b", grace=1)


def test_the_victim_of_a_disk_is_waited_for_where_tasks_stall_for_that_disk() -> None:
    disk = config(hard={"nodefs.available": "10%"}, reclaim_containers=False, reclaim_images=ImageReclaim.OFF)
    stall = stall_threshold(IO, 2000, duration=0, hard=True)
    files = [usage(A, rootfs="8Gi", io=50), usage(B, rootfs="1Gi", io=90)]
    book = Playbook(replace(disk, thresholds=(*disk.thresholds, stall)), pods=[A, B], usage=files)
    book.at("0s", nodefs="500Mi of 10Gi", io=90).conditions("DiskPressure").evicts("a")
    book.at("1s", nodefs="8Gi of 10Gi", io=90).stays_silent(NoActionReason.WAITING_FOR_RELEASE)


def test_a_memory_threshold_does_not_wait_for_the_average_of_a_stall() -> None:
    """The victim's bytes are back with its last process."""
    book = Playbook(thrashing(duration=0), pods=[A, B], usage=[usage(A, memory="700Mi"), usage(B, memory="600Mi")])
    book.at("0s", memory=CALM, stall=90).conditions("MemoryPressure").evicts("a")
    book.at("1s", memory="50Mi of 4Gi", stall=90).evicts("b")


@pytest.mark.parametrize(
    ("duration", "hard", "grace"), [(20 * SECOND, False, 10), (20 * SECOND, True, 1), (0, False, 1)]
)
def test_soft_unless_it_is_hard_or_acts_at_once(duration: int, hard: bool, grace: int) -> None:
    book = Playbook(thrashing(duration=duration, hard=hard), pods=[A], usage=[usage(A, memory="700Mi", stall=50)])
    book.at("0s", memory=CALM, stall=50)
    book.left = []
    book.at("20s", memory=CALM, stall=50) if duration else book
    assert book.eviction().grace_period_seconds == grace
    assert is_hard(book.eviction()) is (grace == 1)


def test_a_threshold_that_is_met_is_looked_at_when_it_is_due() -> None:
    """Not only at the next cycle of a calm node."""
    book = Playbook(replace(thrashing(duration=3 * SECOND), monitoring_period=MINUTE), pods=[A])
    book.at("0s", memory=CALM, stall=50).conditions("MemoryPressure")
    assert book.step.decisions[-1] == Wait(nanoseconds=3 * SECOND)


def test_policy_kubelet_has_no_thresholds_on_stalls() -> None:
    book = Playbook(as_kubelet(thrashing(duration=0)), pods=[A], usage=[usage(A, memory="700Mi", stall=50)])
    book.at("0s", memory=CALM, stall=90).conditions()
    book.at("10s", memory=CALM, stall=90).does_nothing()
    assert stall_signals(book.config) == frozenset()
    assert stall_signals(thrashing()) == {FULL}


def test_a_stall_that_is_not_read_is_not_met() -> None:
    book = Playbook(thrashing(duration=0), pods=[A], usage=[usage(A, memory="700Mi")])
    book.at("0s", memory=CALM).conditions()


def ranked(book: Playbook) -> tuple[RankedPod, ...]:
    """The only ranking of the last step."""
    [ranking] = book.findings(Ranking)
    assert isinstance(ranking, Ranking)
    return ranking.rows


def test_pods_that_stall_themselves_go_first_within_request_and_priority() -> None:
    """The largest pod holds what it has; the one within its request goes last, however it stalls."""
    idle, culprit, small = pod("idle", memory="1Gi"), pod("culprit", memory="1Gi"), pod("small", memory="1Gi")
    within, low = pod("within", memory="4Gi"), pod("low", priority=-1, memory="1Gi")
    book = Playbook(
        thrashing(duration=0),
        pods=[idle, culprit, small, within, low],
        usage=[
            usage(idle, memory="3Gi", stall=30),
            usage(culprit, memory="2Gi", stall=40),
            usage(small, memory="1100Mi", stall=80),
            usage(within, memory="3Gi", stall=80),
            usage(low, memory="1050Mi", stall=0),
        ],
    )
    book.at("0s", memory=CALM, stall=40).conditions("MemoryPressure").evicts("low")
    assert [row.name for row in ranked(book)] == ["low", "culprit", "small", "idle", "within"]
    assert [row.stall for row in ranked(book)] == [0, 4000, 8000, 3000, 8000]


def test_without_the_pods_own_stalls_usage_decides() -> None:
    book = Playbook(thrashing(duration=0), pods=[A, B], usage=[usage(A, memory="700Mi"), usage(B, memory="900Mi")])
    book.at("0s", memory=CALM, stall=40).conditions("MemoryPressure").evicts("b")
    assert [row.stall for row in ranked(book)] == [None, None]
    unread, within = pod("unread"), pod("within", memory="1Gi")
    book = Playbook(thrashing(duration=0), pods=[unread, within], usage=[usage(within, memory="100Mi")])
    book.at("0s", memory=CALM, stall=40).conditions("MemoryPressure").evicts("within")
    assert [row.name for row in ranked(book)] == ["within", "unread"]


def test_io_stalls_are_ranked_by_priority_and_the_pods_own_stall() -> None:
    """A pod that does not wait for I/O, or whose stall is not known, is not chosen."""
    low, unread = pod("low", priority=-1), pod("unread", priority=-2)
    book = Playbook(
        thrashing(IO, duration=0),
        pods=[A, B, low, unread],
        usage=[usage(A, io=20), usage(B, io=31.25), usage(low, io=0), usage(unread)],
    )
    book.at("0s", memory=CALM, io=45).conditions("DiskPressure").evicts("b")
    assert [row.usage for row in ranked(book)] == [None, 0, 3125, 2000]
    assert "low on resource: io" in book.eviction().message


def test_protected_pods_stay() -> None:
    """Nothing is concluded from their share: how much has to be freed is not known."""
    static = pod("static", memory="1Gi", source=PodSource.STATIC)
    book = Playbook(
        thrashing(duration=0),
        pods=[static, A],
        usage=[usage(static, memory="3Gi", stall=90), usage(A, memory="200Mi", stall=90)],
    )
    book.at("0s", memory=CALM, stall=90).conditions("MemoryPressure").evicts("a")


def test_no_pod_within_its_request_goes_for_the_stall_of_one_that_may_not_go() -> None:
    """Law Blame. Each of them was evicted, one after another, and the static pod went on stalling."""
    static = pod("static", memory="1Gi", source=PodSource.STATIC)
    stats = [usage(static, memory="300Mi", stall=90), usage(C, memory="700Mi", stall=5)]
    book = Playbook(thrashing(duration=0), pods=[static, C], usage=stats)
    book.at("0s", memory=CALM, stall=80).stays_silent(NoActionReason.PROTECTED_CULPRIT)
    said = [each.message for each in book.step.decisions if isinstance(each, RecordEvent)]
    assert any("default/static stalls and is a static pod; no pod" in text for text in said)


def test_no_pod_that_waits_little_for_io_goes_for_the_wait_of_one_that_may_not_go() -> None:
    static = pod("static", source=PodSource.STATIC)
    book = Playbook(thrashing(IO, duration=0), pods=[static, C], usage=[usage(static, io=90), usage(C, io=5)])
    book.at("0s", memory=CALM, io=80).stays_silent(NoActionReason.PROTECTED_CULPRIT)


def test_a_pod_within_its_request_that_stalls_as_much_goes_beside_one_that_may_not() -> None:
    static = pod("static", memory="1Gi", source=PodSource.STATIC)
    book = Playbook(
        thrashing(duration=0),
        pods=[static, C],
        usage=[usage(static, memory="300Mi", stall=90), usage(C, memory="700Mi", stall=50)],
    )
    book.at("0s", memory=CALM, stall=80).conditions("MemoryPressure").evicts("c")


def test_texts() -> None:
    soft = stall_threshold(FULL, 1250, duration=SECOND, hard=False)
    assert str(soft) == "pods.memory.full.avg10>12.5%"
    assert soft.value == ThresholdValue(quantity=of_count(ALL_OF_THE_TIME - 1250))
    memory = Threshold(signal=Signal.MEMORY_AVAILABLE, value=ThresholdValue(fraction=0.1))
    assert str(memory) == "memory.available<10%"
    assert len(STALLS) == 16


def tenant(name: str, *, limit: str, limits: int = 1) -> Pod:
    """A pod with a memory limit in the first of its containers, or in both."""
    amounts = {"memory": parse_quantity(limit)}
    containers = [Container(name="c", requests=amounts, limits=amounts)]
    second = amounts if limits == 2 else {}
    containers += [Container(name="d", requests=second, limits=second)] if limits != 1 else []
    return replace(pod(name), containers=tuple(containers))


@pytest.mark.parametrize("limits", [0, 1, 2])
def test_no_neighbour_goes_for_the_stall_of_a_pod_at_its_own_limit(limits: int) -> None:
    """A tenant within its request read more than its limit in a loop: the small pod beside it went, then the next one."""
    hostile = tenant("hostile", limit="500Mi", limits=limits)
    held = "980Mi" if limits == 2 else "480Mi"
    book = Playbook(
        thrashing(duration=0),
        pods=[hostile, A],
        usage=[usage(hostile, memory=held, stall=90), usage(A, memory="150Mi", stall=0)],
    )
    book.at("0s", memory=CALM, stall=80).conditions("MemoryPressure").stays_silent(NoActionReason.NOTHING_HELPS)


def test_a_pod_over_its_request_goes_for_the_stall_at_its_own_limit_and_its_neighbour_stays() -> None:
    container = Container(
        name="c", requests={"memory": parse_quantity("32Mi")}, limits={"memory": parse_quantity("500Mi")}
    )
    thrasher = replace(pod("thrasher", priority=1000), containers=(container,))
    book = Playbook(
        thrashing(duration=0),
        pods=[thrasher, A],
        usage=[usage(thrasher, memory="480Mi", stall=90), usage(A, memory="150Mi", stall=0)],
    )
    book.at("0s", memory=CALM, stall=80).conditions("MemoryPressure").evicts("thrasher")


def test_a_pod_at_its_own_limit_protects_no_other_pod_that_stalls() -> None:
    hostile = tenant("hostile", limit="500Mi")
    book = Playbook(
        thrashing(duration=0),
        pods=[hostile, A, B],
        usage=[usage(hostile, memory="480Mi", stall=90), usage(A, memory="700Mi", stall=50), usage(B, memory="600Mi")],
    )
    book.at("0s", memory=CALM, stall=80).conditions("MemoryPressure").evicts("a")

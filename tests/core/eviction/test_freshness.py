"""A decision about a disk is held until every pod was measured since the crossing, within a bound."""

from dataclasses import replace
from typing import Any

import pytest

from evictd.core.eviction.accounts.freshness import (
    HELD_INTERVAL,
    MEASUREMENT_TIMEOUT,
    filesystems_to_measure,
    is_held,
    waiting_for_measurement,
)
from evictd.core.eviction.accounts.ledger import supply_of
from evictd.core.eviction.reclaim import Layout
from evictd.core.model.decision import Wait
from evictd.core.model.finding import WaitingForMeasurement
from evictd.core.model.holdings import Effect, Pause
from evictd.core.model.observation import Observation, SignalObservation
from evictd.core.model.resources import Volume, VolumeKind
from evictd.core.model.signal import Filesystem, Signal
from evictd.core.model.state import Collection, State, Victim
from evictd.core.model.threshold import Threshold
from evictd.core.units.duration import MINUTE, SECOND
from evictd.core.units.quantity import of_bytes
from tests.playbook import NO_COLLECTING, Playbook, as_kubelet, config, node, pod, threshold, usage
from tests.shortages import holders, level

DISK = threshold("nodefs.available", "10Gi")
IMAGES = threshold("imagefs.available", "10Gi")
A, B = pod("a"), pod("b")
CROSSED = 100 * SECOND
STATE = State(thresholds_first_observed_at={DISK: CROSSED, IMAGES: CROSSED})
SHORT: dict[str, Any] = {"nodefs": "5Gi of 100Gi"}


def seen(*, walk: int | None, layers: int | None) -> Observation:
    """Two pods, of which `b` was measured at these times and `a` just now."""
    fresh = replace(usage(A, logs="1Gi"), disk_time=CROSSED + 9 * SECOND, layers_time=CROSSED + 9 * SECOND)
    stats = {"a": fresh, "b": replace(usage(B, logs="1Gi"), disk_time=walk, layers_time=layers)}
    return Observation(node=node(**SHORT), pods=(A, B), pod_stats=stats)


def held(
    observation: Observation,
    *,
    due: Threshold = DISK,
    state: State = STATE,
    layout: Layout = Layout.SINGLE,
    now: int = CROSSED + SECOND,
) -> tuple[str, ...]:
    """The parts that are waited for; nothing where the decision is not held."""
    waiting = waiting_for_measurement(due, state, observation, layout, now)
    return () if waiting is None else waiting.what


@pytest.mark.parametrize("old", [None, CROSSED - 9 * SECOND], ids=["never", "nine seconds before"])
def test_what_was_measured_before_the_crossing_is_waited_for(old: int | None) -> None:
    """Layers as well as walks; each has its own time (docs/faults.md, 8)."""
    assert held(seen(walk=old, layers=CROSSED)) == ("logs and volumes",)
    assert held(seen(walk=CROSSED, layers=old)) == ("layers",)
    assert held(seen(walk=old, layers=old)) == ("layers", "logs and volumes")
    assert held(seen(walk=CROSSED, layers=CROSSED)) == ()


def test_the_finding_says_what_is_waited_for_and_until_when() -> None:
    """Which pods, since when, until when."""
    waiting = waiting_for_measurement(DISK, STATE, seen(walk=None, layers=CROSSED), Layout.SINGLE, CROSSED)
    assert waiting == WaitingForMeasurement(
        threshold=DISK, what=("logs and volumes",), pods=(B,), since=CROSSED, until=CROSSED + MEASUREMENT_TIMEOUT
    )


def test_measurements_are_not_waited_for_beyond_the_bound() -> None:
    """What is known counts then."""
    observation = seen(walk=None, layers=None)
    assert held(observation, now=CROSSED + MEASUREMENT_TIMEOUT - 1)
    assert held(observation, now=CROSSED + MEASUREMENT_TIMEOUT) == ()


def test_after_a_collection_what_was_measured_since_it_began_counts() -> None:
    """It frees layers and logs, so the numbers from before are of another disk."""
    state = replace(STATE, collections={Filesystem.NODEFS: Collection(begun=CROSSED + 5 * SECOND, until=0)})
    assert held(seen(walk=CROSSED, layers=CROSSED), state=state) == ("layers", "logs and volumes")
    assert held(seen(walk=CROSSED + 5 * SECOND, layers=CROSSED + 6 * SECOND), state=state) == ()


def test_collections_after_victims_for_memory_do_not_hold_a_disk_without_end() -> None:
    """Numbers that are always ten seconds old are older than each collection where one begins every eight seconds."""
    begun = CROSSED + 2 * MEASUREMENT_TIMEOUT
    numbers = seen(walk=begun - 10 * SECOND, layers=begun - 10 * SECOND)
    again = replace(STATE, collections={Filesystem.NODEFS: Collection(begun=begun, until=0)})
    assert held(numbers, state=again, now=begun + SECOND) == ()
    last = Effect(uid="v", chosen_at=begun - SECOND, held=0, missing=1, until=begun + 10 * SECOND)
    after_its_own = replace(again, effects={Signal.NODEFS_AVAILABLE: (last,)})
    assert held(numbers, state=after_its_own, now=begun + SECOND) == ("layers", "logs and volumes")
    after_a_pause = replace(again, pauses={Signal.NODEFS_AVAILABLE: Pause(until=begun, wait=MINUTE)})
    assert held(numbers, state=after_a_pause, now=begun + SECOND) == ("layers", "logs and volumes")


def test_what_does_not_lie_on_the_short_filesystem_is_not_waited_for() -> None:
    """With an imagefs of its own, nodefs holds logs and volumes, and imagefs the layers; of memory nothing is walked."""
    assert held(seen(walk=CROSSED, layers=None), layout=Layout.DEDICATED) == ()
    assert held(seen(walk=None, layers=CROSSED), layout=Layout.DEDICATED) == ("logs and volumes",)
    assert held(seen(walk=None, layers=CROSSED), due=IMAGES, layout=Layout.DEDICATED) == ()
    assert held(seen(walk=None, layers=None), due=threshold("memory.available", "1Gi")) == ()


def test_pods_without_statistics_are_not_waited_for() -> None:
    """Nothing of them runs yet, or nothing can be read; without a spec only the volumes found on disk are walked."""
    observation = seen(walk=None, layers=CROSSED)
    assert held(replace(observation, pod_stats={"a": observation.pod_stats["a"]})) == ()
    unknown = replace(B, spec_known=False)
    assert held(replace(observation, pods=(A, unknown))) == ()
    found = replace(unknown, volumes=(Volume(name="data", kind=VolumeKind.EMPTY_DIR),))
    assert held(replace(observation, pods=(A, found))) == ("logs and volumes",)


def test_a_held_decision_is_looked_at_again_soon_and_made_once_the_pods_are_measured() -> None:
    """The first in rank by the new numbers goes, and the hold shows no doctored time."""
    old = replace(usage(A, logs="1Gi"), disk_time=0, layers_time=0)
    book = Playbook(config(hard={"nodefs.available": "10Gi"}, **NO_COLLECTING), pods=[A], usage=[old])
    book.at("100s", **SHORT).conditions("DiskPressure").does_nothing()
    assert len(book.findings(WaitingForMeasurement)) == 1
    assert book.step.decisions[-1] == Wait(nanoseconds=HELD_INTERVAL)
    book.usage = {"a": usage(A, logs="80Gi")}
    book.at("101s", **SHORT).evicts("a")


def test_only_a_hard_threshold_of_a_disk_is_held_and_only_while_no_pod_leaves() -> None:
    soft, memory = replace(DISK, grace_period=SECOND), threshold("memory.available", "1Gi")
    assert is_held(State(thresholds_met=(DISK,)), config())
    assert is_held(State(thresholds_met=(memory, DISK)), config())
    for met in ((), (memory,), (soft,)):
        assert not is_held(State(thresholds_met=met), config())
    assert not is_held(State(thresholds_met=(DISK,)), as_kubelet(config()))
    assert not is_held(State(thresholds_met=(DISK,), in_flight=(Victim(uid="a"),)), config())


def test_the_kubelet_does_not_wait() -> None:
    """It decides on what it has."""
    old = replace(usage(A, logs="1Gi"), disk_time=0, layers_time=0)
    settings = as_kubelet(config(hard={"nodefs.available": "10Gi"}, **NO_COLLECTING))
    Playbook(settings, pods=[A], usage=[old]).at("100s", **SHORT).conditions("DiskPressure").evicts("a").finish()


def test_pods_are_measured_while_any_filesystem_is_near_its_threshold() -> None:
    """And before the first cycle, and while collectors are at work; on a calm node none is, but under policy Kubelet."""
    everything = frozenset(Filesystem)
    settings = config(hard={"nodefs.available": "10Gi"})
    book = Playbook(settings, pods=[A])
    book.at("0s", nodefs="90Gi of 100Gi").conditions()
    assert filesystems_to_measure(book.state, book.step.findings, settings) == frozenset()
    assert filesystems_to_measure(book.state, book.step.findings, as_kubelet(settings)) == everything
    assert filesystems_to_measure(book.state, (), settings) == everything
    working = replace(book.state, collections={Filesystem.NODEFS: Collection(begun=0, until=9)})
    assert filesystems_to_measure(working, book.step.findings, settings) == everything
    book.at("1s", nodefs="19Gi of 100Gi").does_nothing()
    assert filesystems_to_measure(book.state, book.step.findings, settings) == everything


# --- a disk that is soon full --------------------------------------------------------------------------------------

MIB = 2**20
FAST = SignalObservation(available=of_bytes(5 << 30), capacity=of_bytes(100 << 30), fill_rate=200 * MIB)


def soon_full(*, a: int, b: int, elsewhere: int = 0, seen_last: SignalObservation = FAST) -> State:
    """`a` was measured since the crossing, `b` before; by how much each grew in the last minute."""
    holdings = holders({"a": 10 << 30, "b": 10 << 30}, {"a": a, "b": b}, elsewhere=level(0, elsewhere))
    supply = supply_of(DISK.signal, Layout.SINGLE)
    return replace(STATE, holdings={supply: holdings}, last_seen={DISK.signal: seen_last})


OLD_B = seen(walk=CROSSED - SECOND, layers=CROSSED - SECOND)


def test_a_disk_that_is_soon_full_waits_for_the_pods_that_fill_it_alone() -> None:
    assert held(OLD_B, state=soon_full(a=300 * MIB, b=0)) == ()
    assert held(OLD_B, state=soon_full(a=300 * MIB, b=90 * MIB)) == ()
    assert held(OLD_B, state=soon_full(a=300 * MIB, b=110 * MIB)), "most of the growth, not some"


def test_growth_that_no_pod_explains_is_waited_for() -> None:
    assert held(OLD_B, state=soon_full(a=300 * MIB, b=0, elsewhere=200 * MIB))
    assert held(OLD_B, state=soon_full(a=0, b=0))
    assert held(OLD_B, state=soon_full(a=300 * MIB, b=0, elsewhere=-200 * MIB)) == (), "a collection gave that back"


def test_a_disk_that_lasts_and_a_soft_threshold_wait_for_all() -> None:
    state = soon_full(a=300 * MIB, b=0)
    slow = replace(FAST, fill_rate=100 * MIB)
    assert held(OLD_B, state=soon_full(a=300 * MIB, b=0, seen_last=slow)), "51 s are left"
    assert held(OLD_B, state=soon_full(a=300 * MIB, b=0, seen_last=replace(FAST, fill_rate=None)))
    soft = threshold("nodefs.available", "10Gi", grace="1m")
    timed = replace(state, thresholds_first_observed_at={soft: CROSSED})
    assert held(OLD_B, due=soft, state=timed)


def test_growth_is_followed_from_when_pods_are_walked_for_a_disk_that_fills_fast() -> None:
    """Else the pod that fills is first known at the crossing, and counts as one that has just come."""
    now, fast = CROSSED, 2 << 30
    early = tuple(
        replace(usage(each, logs=held_then), disk_time=now, layers_time=now)
        for each, held_then in ((A, "20Gi"), (B, "1Gi"))
    )
    book = Playbook(config(hard={"nodefs.available": "10Gi"}, **NO_COLLECTING), pods=[A, B], usage=early)
    book.at("100s", nodefs="40Gi of 100Gi", nodefs_rate=fast).conditions().does_nothing()
    later = now + 16 * SECOND
    book.usage["a"] = replace(usage(A, logs="51Gi"), disk_time=later, layers_time=later)
    book.at("116s", nodefs="9Gi of 100Gi", nodefs_rate=fast).conditions("DiskPressure").evicts("a")


def test_a_pod_that_was_never_measured_is_waited_for() -> None:
    state = soon_full(a=300 * MIB, b=0)
    holdings = {supply: replace(each, used={"a": each.used["a"]}) for supply, each in state.holdings.items()}
    assert held(OLD_B, state=replace(state, holdings=holdings))


def test_pods_are_measured_once_a_threshold_is_ten_minutes_away_at_the_measured_rate() -> None:
    settings = config(hard={"nodefs.available": "10Gi"})
    book = Playbook(settings, pods=[A])
    book.at("0s", nodefs="70Gi of 100Gi", nodefs_rate=60 * (1 << 30) // 600 - 1).conditions()
    assert filesystems_to_measure(book.state, book.step.findings, settings) == frozenset()
    newer = {Signal.NODEFS_AVAILABLE: 10**12}
    assert filesystems_to_measure(book.state, book.step.findings, settings, newer) == frozenset(Filesystem)
    book.at("1s", nodefs="70Gi of 100Gi", nodefs_rate=60 * (1 << 30) // 600 + 1).does_nothing()
    assert filesystems_to_measure(book.state, book.step.findings, settings) == frozenset(Filesystem)

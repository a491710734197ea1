"""Time in which evictd does not look brings no second victim, and no eviction in place of a collection."""

from dataclasses import replace
from typing import Any

import pytest

from evictd.core.eviction.accounts.absence import LONGEST_COUNTED
from evictd.core.eviction.accounts.freshness import MEASUREMENT_TIMEOUT
from evictd.core.eviction.accounts.ledger import victim_until
from evictd.core.model.config import ImageReclaim, Policy
from evictd.core.model.decision import EvictPod, WithdrawEviction
from evictd.core.model.finding import NoActionReason
from evictd.core.model.observation import Reclaim, ReclaimOutcome
from evictd.core.model.pod import Pod
from evictd.core.units.duration import HOUR, SECOND
from tests.playbook import Playbook, config, pod, usage

HOG, WEB = pod("hog"), pod("web", memory="1Gi")
MEMORY = [usage(HOG, memory="3Gi"), usage(WEB, memory="900Mi")]
DISK = [usage(HOG, logs="30Gi", rootfs="1Gi"), usage(WEB, logs="1Gi", rootfs="1Gi")]
SHORT: dict[str, Any] = {"memory": "500Mi of 4Gi"}
DISK_SHORT: dict[str, Any] = {"nodefs": "5Gi of 100Gi"}


def chosen() -> Playbook:
    """A node whose hog was chosen at 0 s."""
    book = Playbook(config(hard={"memory.available": "1Gi"}), pods=[HOG, WEB], usage=MEMORY)
    return book.at("0s", **SHORT).conditions("MemoryPressure").evicts("hog")


@pytest.mark.parametrize("absence", ["41s", "1h", "720h"])
def test_a_victim_is_waited_for_although_its_time_passed_meanwhile(absence: str) -> None:
    """The stop call may not have been sent, or evictd, the runtime and the pod were all halted."""
    book = chosen()
    book.at(absence, absent=True, gone=[], **SHORT).does_nothing()
    book.stays_silent(NoActionReason.WAITING_FOR_VICTIM)


def test_what_was_left_of_its_time_is_left_but_for_what_counts() -> None:
    """So a victim that does not end holds up no eviction for longer than it would have without the absence."""
    book = chosen().at("10s", gone=[], **SHORT).does_nothing()
    book.at("1h", absent=True, gone=[], **SHORT).does_nothing()
    left = victim_until(0, 0) - 10 * SECOND - LONGEST_COUNTED
    assert book.state.in_flight[0].until == HOUR + left
    book.at(f"{(HOUR + left) // SECOND}s", gone=[], **SHORT).evicts("web")


def test_each_start_uses_up_some_of_the_time() -> None:
    """An evictd that is restarted again and again comes to the next pod."""
    book = chosen()
    for start in (1, 2):
        book.at(f"{start}h", absent=True, gone=[], **SHORT)
    book.evicts("web")


def test_no_deadline_is_further_away_than_at_its_beginning() -> None:
    """Whatever a damaged state file says of the last cycle."""
    book = chosen()
    book.state = replace(book.state, last_cycle_at=-(10**30))
    book.at("30s", absent=True, gone=[], **SHORT).does_nothing()
    assert book.state.in_flight[0].until == victim_until(book.state.in_flight[0].grace_period_seconds, 30 * SECOND)


def test_short_gaps_count() -> None:
    """A cycle on a starved node, or in a simulation, may come late."""
    book = chosen().at("20s", absent=True, gone=[], **SHORT).does_nothing()
    book.at("40s", absent=True, gone=[], **SHORT).evicts("web")


def test_policy_kubelet_counts_all_time() -> None:
    """The kubelet's `podCleanupTimeout` is a time of the clock, and after it the kubelet may choose the same pod again."""
    book = Playbook(config(hard={"memory.available": "1Gi"}, policy=Policy.KUBELET), pods=[HOG, WEB], usage=MEMORY)
    book.at("0s", **SHORT).conditions("MemoryPressure").evicts("hog")
    book.at("1h", absent=True, gone=[], **SHORT).evicts("hog")


def test_a_collection_is_waited_for_as_well() -> None:
    """Its collectors stood still with evictd; what they free may make an eviction needless."""
    book = Playbook(config(hard={"nodefs.available": "10Gi"}), pods=[HOG, WEB], usage=DISK)
    book.at("0s", **DISK_SHORT).conditions("DiskPressure").reclaims("containers", "images")
    book.at("1h", absent=True, **DISK_SHORT).does_nothing().stays_silent(NoActionReason.WAITING_FOR_RELEASE)
    done = [ReclaimOutcome(action=Reclaim.CONTAINERS), ReclaimOutcome(action=Reclaim.IMAGES)]
    book.at("3601s", reclaimed=done, nodefs="20Gi of 100Gi").does_nothing()


def unmeasured(pods: list[Pod]) -> Playbook:
    """A disk that is short, of whose hog nothing was measured since."""
    settings = config(hard={"nodefs.available": "10Gi"}, reclaim_containers=False, reclaim_images=ImageReclaim.OFF)
    old = replace(usage(HOG), disk_time=-1, layers_time=-1)
    return Playbook(settings, pods=pods, usage=[old, DISK[1]]).at("0s", **DISK_SHORT).conditions("DiskPressure")


def test_measurements_are_waited_for_after_an_absence() -> None:
    """The walks stood still with evictd: the first pod that was measured would go, whatever it uses."""
    book = unmeasured([HOG, WEB]).does_nothing()
    book.at("1h", absent=True, **DISK_SHORT).does_nothing()
    book.usage = {each.uid: each for each in DISK}
    book.at("3601s", **DISK_SHORT).evicts("hog")


def test_slow_cycles_do_not_renew_the_wait_for_measurements() -> None:
    """A runtime that needs its whole time limit for each call makes a cycle of more than `LONGEST_COUNTED`."""
    book = unmeasured([HOG, WEB]).does_nothing()
    book.at("21s", absent=True, **DISK_SHORT).does_nothing()
    book.at("42s", absent=True, **DISK_SHORT).evicts("web")


def test_the_wait_for_measurements_begins_with_the_run() -> None:
    """A start has measured no pod, however short the absence was."""
    book = unmeasured([HOG, WEB]).does_nothing()
    book.at("29s", **DISK_SHORT).does_nothing()
    book.state = replace(book.state, started_at=29 * SECOND)
    book.at("31s", **DISK_SHORT).does_nothing()
    book.at("45s", **DISK_SHORT).does_nothing()
    book.at(f"{(29 * SECOND + MEASUREMENT_TIMEOUT) // SECOND}s", **DISK_SHORT).evicts("web")


def test_a_grace_period_does_not_pass_during_an_absence() -> None:
    """A halt of a minute counts for `LONGEST_COUNTED`; after a long one nothing is known of the time between."""
    settings = config(soft={"memory.available": ("1Gi", "1m")}, hard={})
    for absence, due in (("1m", "100s"), ("1h", "3660s")):
        book = Playbook(settings, pods=[HOG, WEB], usage=MEMORY).at("0s", **SHORT).conditions("MemoryPressure")
        book.at(absence, absent=True, **SHORT)
        assert not [each for each in book.left if isinstance(each, EvictPod)]
        book.left = []
        book.at(f"{int(due.removesuffix('s')) - 1}s", **SHORT).does_nothing()
        book.at(due, **SHORT).evicts("hog")


def test_a_victim_over_its_own_limit_holds_up_a_threshold_that_was_crossed_before() -> None:
    """It was chosen within `OWN_LIMITS_TIMEOUT` of the crossing, as far as evictd has seen."""
    over = pod("hog", storage_limit="20Gi")
    book = unmeasured([over, WEB]).does_nothing()
    book.usage = {each.uid: each for each in DISK}
    book.at("1h", absent=True, **DISK_SHORT).evicts("hog").does_nothing()


def stays(book: Playbook) -> bool:
    """Whether the last step lets the hog stay that was chosen before."""
    [withdrawn] = [each for each in book.left if isinstance(each, WithdrawEviction)]
    book.left.remove(withdrawn)
    return withdrawn.pod == HOG and not book.state.in_flight


CALM: dict[str, Any] = {"memory": "3Gi of 4Gi"}


def test_a_victim_of_hours_ago_that_lives_stays_at_a_start_without_pressure_and_is_chosen_anew() -> None:
    book = chosen()
    assert stays(book.at("3h", absent=True, gone=[], **CALM).conditions())
    book.at("10801s", gone=[], **SHORT).evicts("hog")


def test_a_victim_of_a_short_absence_goes_on_leaving() -> None:
    book = chosen()
    book.at("2m", absent=True, gone=[], **CALM).does_nothing()
    assert [each.uid for each in book.state.in_flight] == ["hog"]


def test_a_victim_stays_one_while_its_supply_is_not_read_or_nothing_of_it_runs() -> None:
    for seen in ({"gone": [], **DISK_SHORT}, {"gone": ["hog"], **CALM}):
        book = chosen()
        book.at("3h", absent=True, **seen)
        assert not [each for each in book.left if isinstance(each, WithdrawEviction)]
        book.left = []


def test_a_victim_over_its_own_limit_is_judged_anew_after_a_long_absence() -> None:
    over = pod("hog", storage_limit="20Gi")
    book = Playbook(config(hard={"nodefs.available": "1Gi"}), pods=[over, WEB], usage=DISK)
    book.at("0s", nodefs="50Gi of 100Gi").conditions().evicts("hog")
    book.usage["hog"] = usage(over, logs="1Gi", rootfs="1Gi")
    book.at("3h", absent=True, gone=[], nodefs="80Gi of 100Gi")
    [withdrawn] = [each for each in book.left if isinstance(each, WithdrawEviction)]
    assert withdrawn.pod == over
    book.left = []


def test_a_clock_that_falls_stretches_no_grace_period() -> None:
    settings = config(soft={"memory.available": ("1Gi", "1m")}, hard={})
    book = Playbook(settings, pods=[HOG, WEB], usage=MEMORY).at("3h", **SHORT).conditions("MemoryPressure")
    book.at("1h", absent=True, **SHORT).does_nothing()
    book.at("3659s", **SHORT).does_nothing()
    book.at("3660s", **SHORT).evicts("hog")


def test_a_clock_that_falls_lets_a_victim_that_does_not_end_hold_up_no_pod_for_longer() -> None:
    book = Playbook(config(hard={"memory.available": "1Gi"}), pods=[HOG, WEB], usage=MEMORY)
    book.at("3h", **SHORT).conditions("MemoryPressure").evicts("hog")
    book.at("1h", absent=True, gone=[], **SHORT).does_nothing()
    book.at(f"{(HOUR + victim_until(1, 0)) // SECOND}s", gone=[], **SHORT).evicts("web")


def test_a_clock_that_falls_ends_a_condition_after_its_period() -> None:
    book = Playbook(config(hard={"memory.available": "1Gi"}), pods=[HOG], usage=MEMORY[:1])
    book.at("3h", **SHORT).conditions("MemoryPressure").evicts("hog")
    book.at("1h", absent=True, **CALM).does_nothing()
    book.at("3900s", **CALM).conditions()

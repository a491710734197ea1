"""The whole cycle as stories: the choreography of the kubelet's own manager tests, and what policy Standard puts right."""

from dataclasses import replace
from typing import Any

import pytest

from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.config import EvictionConfig, Policy
from evictd.core.model.decision import EvictPod, ReclaimNode, RecordEvent, ReportConditions
from evictd.core.model.finding import NoAction, NoActionReason, ThresholdFinding
from evictd.core.model.observation import Observation, Outcomes, Reclaim, ReclaimOutcome
from evictd.core.model.pod import PodSource
from evictd.core.model.signal import Filesystem, NodeCondition, Signal
from evictd.core.model.state import CleaningUp, PhaseName, State, Step, Victim
from evictd.core.units.duration import SECOND
from tests.daemon.world import GI, NOW, observe, step
from tests.playbook import Playbook, config, empty_dir, node, pod, usage

A = pod("a", memory="100Mi", grace=30)
B = pod("b", memory="1Gi", grace=30)
MEMORY = [usage(A, memory="700Mi"), usage(B, memory="900Mi")]
BOTH = pytest.mark.parametrize("policy", Policy)
DONE = (ReclaimOutcome(action=Reclaim.CONTAINERS), ReclaimOutcome(action=Reclaim.IMAGES))


def hard_memory(policy: Policy) -> EvictionConfig:
    """1Gi, hard."""
    return config(hard={"memory.available": "1Gi"}, policy=policy)


@BOTH
def test_hard_memory_pressure_evicts_who_exceeds_its_request_and_reports_first(policy: Policy) -> None:
    """TestMemoryPressure: condition and eviction in the same cycle, one second of grace."""
    book = Playbook(hard_memory(policy), pods=[A, B], usage=MEMORY)
    book.at("0s", memory="2Gi of 4Gi").conditions().does_nothing()
    book.at("10s", memory="500Mi of 4Gi").conditions("MemoryPressure").evicts("a", grace=1).does_nothing()
    book.in_phase(PhaseName.CLEANING_UP)
    book.at("20s", memory="2Gi of 4Gi").does_nothing()
    book.in_phase(PhaseName.WATCHING)
    book.at("309s", memory="2Gi of 4Gi").does_nothing()
    book.at("310s", memory="2Gi of 4Gi").conditions().does_nothing()


@BOTH
def test_a_soft_threshold_acts_after_its_grace_and_starts_again_when_it_was_not_met(policy: Policy) -> None:
    """The condition shows at once, the eviction waits; a single good reading starts the timer again."""
    settings = config(soft={"memory.available": ("2Gi", "2m")}, policy=policy, max_pod_grace_period_seconds=5)
    book = Playbook(settings, pods=[A, B], usage=MEMORY)
    book.at("0s", memory="1500Mi of 4Gi").conditions("MemoryPressure").does_nothing()
    book.at("119s", memory="1500Mi of 4Gi").does_nothing()
    book.at("119500ms", memory="3Gi of 4Gi").does_nothing()
    book.at("120s", memory="1500Mi of 4Gi").does_nothing()
    [finding] = book.findings(ThresholdFinding)
    assert finding.grace_left == 120 * SECOND
    book.at("239s", memory="1500Mi of 4Gi").does_nothing()
    book.at("240s", memory="1500Mi of 4Gi").evicts("a", grace=5)
    book.finish()


@BOTH
def test_minimum_reclaim_keeps_evicting_until_the_target(policy: Policy) -> None:
    """TestMinReclaim: 1Gi with 500Mi on top; kill at 500Mi, kill again at 1.2Gi, stop at 2Gi."""
    third = pod("c", memory="2Gi")
    settings = config(hard={"memory.available": "1Gi"}, min_reclaim={"memory.available": "500Mi"}, policy=policy)
    book = Playbook(settings, pods=[A, B, third], usage=[*MEMORY, usage(third, memory="100Mi")])
    book.at("0s", memory="500Mi of 4Gi").conditions("MemoryPressure").evicts("a")
    book.at("10s", memory="1200Mi of 4Gi").evicts("b")
    book.at("20s", memory="2Gi of 4Gi").does_nothing()
    book.at("319s", memory="2Gi of 4Gi").conditions().does_nothing()


@BOTH
@pytest.mark.parametrize("filesystem", ["nodefs", "imagefs"])
def test_disk_pressure_collects_first_and_spares_the_pods_if_that_suffices(policy: Policy, filesystem: str) -> None:
    """TestNodeReclaimFuncs: containers, then images; enough space afterwards, no kill."""
    settings = config(hard={f"{filesystem}.available": "1Gi"}, policy=policy)
    short: dict[str, Any] = {filesystem: "500Mi of 9Gi"}
    fine: dict[str, Any] = {filesystem: "2Gi of 9Gi"}
    book = Playbook(settings, pods=[A], usage=[usage(A, rootfs="3Gi")])
    book.at("0s", **short).conditions("DiskPressure").reclaims("containers", "images")
    book.in_phase(PhaseName.RECLAIMING)
    book.at("1s", reclaimed=DONE, **fine).does_nothing()
    book.stays_silent(NoActionReason.RECLAIM_SUFFICED)


@BOTH
def test_disk_pressure_evicts_if_the_minimum_reclaim_is_not_reached_by_collecting(policy: Policy) -> None:
    """TestNodeReclaimFuncs: above the threshold, below the target."""
    settings = config(hard={"nodefs.available": "1Gi"}, min_reclaim={"nodefs.available": "500Mi"}, policy=policy)
    book = Playbook(settings, pods=[A], usage=[usage(A, rootfs="3Gi", logs="1Mi")])
    book.at("0s", nodefs="500Mi of 9Gi").conditions("DiskPressure").reclaims("containers", "images")
    book.at("1s", reclaimed=DONE, nodefs="1200Mi of 9Gi").evicts("a", grace=1)
    book.finish()


@BOTH
def test_memory_goes_before_disk(policy: Policy) -> None:
    """TestSortByEvictionPriority, as a story; the second resource waits for a later cycle."""
    settings = config(hard={"nodefs.available": "1Gi", "memory.available": "1Gi"}, policy=policy)
    book = Playbook(settings, pods=[A, B], usage=MEMORY)
    book.at("0s", memory="500Mi of 4Gi", nodefs="500Mi of 9Gi").conditions("MemoryPressure", "DiskPressure").evicts("a")
    book.at("10s", memory="2Gi of 4Gi", nodefs="500Mi of 9Gi").reclaims("containers", "images")


@BOTH
def test_the_same_numbers_do_not_act_twice(policy: Policy) -> None:
    """kubernetes/kubernetes#51516: a threshold acts only on a reading newer than the last one."""
    book = Playbook(hard_memory(policy), pods=[A, B], usage=MEMORY)
    book.at("0s", memory="500Mi of 4Gi").conditions("MemoryPressure").evicts("a")
    stale = book.state.last_seen
    book.at("10s", memory="500Mi of 4Gi").evicts("b")
    assert book.state.last_seen != stale
    again = Playbook(hard_memory(policy), pods=[A, B], usage=MEMORY, state=book.state)
    again.at("10s", memory="500Mi of 4Gi", gone=["a", "b"]).does_nothing()
    assert [finding.stale for finding in again.findings(ThresholdFinding)] == [True]


@BOTH
def test_a_failed_reading_changes_nothing(policy: Policy) -> None:
    """No summary: conditions and timers stay as they were."""
    book = Playbook(hard_memory(policy), pods=[A, B], usage=MEMORY)
    book.at("0s", memory="500Mi of 4Gi").conditions("MemoryPressure").evicts("a")
    book.at("20s", memory="2Gi of 4Gi").does_nothing()
    before = book.state
    book.at("400s", failed=True).does_nothing().stays_silent(NoActionReason.NO_STATS)
    assert book.state == replace(before, last_cycle_at=400 * SECOND)


@BOTH
def test_limits_of_pods_are_enforced_before_pressure_and_for_all_at_once(policy: Policy) -> None:
    """TestManagerWithLocalStorageCapacityIsolationOpen: every offender goes in one cycle; pressure waits."""
    full = pod("dir", volumes=[empty_dir("v", size_limit="1Gi")])
    fat = pod("fat", storage_limit="1Gi")
    settings = hard_memory(policy)
    uses = [usage(full, volumes={"v": "2Gi"}), usage(fat, rootfs="2Gi", logs="1Mi"), *MEMORY]
    book = Playbook(settings, pods=[full, fat, A, B], usage=uses)
    book.at("0s", memory="500Mi of 4Gi").conditions("MemoryPressure").evicts("dir", grace=1).evicts("fat", grace=1)
    book.at("10s", memory="500Mi of 4Gi").evicts("a")


@BOTH
def test_nothing_configured_means_nothing_done(policy: Policy) -> None:
    """No thresholds and no isolation of local storage: the cycle is a no-op."""
    settings = config(policy=policy, local_storage_capacity_isolation=False)
    book = Playbook(settings, pods=[A], usage=MEMORY)
    book.at("0s", memory="0 of 4Gi").does_nothing()
    assert book.state == State(last_cycle_at=0)


@BOTH
def test_static_and_critical_pods_stay(policy: Policy) -> None:
    """TestStaticCriticalPodsAreNotEvicted: with nobody else there, nothing is evicted."""
    static = pod("static", source=PodSource.STATIC)
    critical = pod("critical", priority=2_000_000_000)
    book = Playbook(
        hard_memory(policy), pods=[static, critical], usage=[usage(static, memory="3Gi"), usage(critical, memory="9Mi")]
    )
    book.at("0s", memory="500Mi of 4Gi").conditions("MemoryPressure").does_nothing()
    expected = NoActionReason.PROTECTED_CULPRIT if policy is Policy.STANDARD else NoActionReason.NOTHING_EVICTABLE
    book.stays_silent(expected)


@BOTH
def test_every_attempt_leaves_an_event_on_the_node(policy: Policy) -> None:
    """`Attempting to reclaim memory`, in each cycle that gets so far."""
    book = Playbook(hard_memory(policy), pods=[A, B], usage=MEMORY)
    book.at("0s", memory="500Mi of 4Gi").conditions("MemoryPressure").evicts("a")
    events = [d for d in book.step.decisions if isinstance(d, RecordEvent)]
    assert events == [
        RecordEvent(type="Warning", reason="EvictionThresholdMet", message="Attempting to reclaim memory")
    ]


@BOTH
def test_an_unrelieved_threshold_records_its_event_once(policy: Policy) -> None:
    """The kubelet does so in each cycle; with 500 pods each was 786 KiB of the journal."""
    static = pod("static", source=PodSource.STATIC)
    book = Playbook(hard_memory(policy), pods=[static], usage=[usage(static, memory="3Gi")])
    recorded = []
    for second in range(10):
        book.at(f"{second}s", memory="500Mi of 4Gi")
        recorded += [decision for decision in book.step.decisions if isinstance(decision, RecordEvent)]
        book.left = []
    reasons = [event.reason for event in recorded]
    attempted = "EvictionThresholdMet"
    assert reasons == ([attempted, "ProtectedCulprit"] if policy is Policy.STANDARD else [attempted] * 10)


def test_a_threshold_that_is_crossed_again_records_its_event_again() -> None:
    static = pod("static", source=PodSource.STATIC)
    book = Playbook(hard_memory(Policy.STANDARD), pods=[static], usage=[usage(static, memory="3Gi")])
    recorded = []
    for second, memory in enumerate(("500Mi", "500Mi", "3Gi", "500Mi", "500Mi")):
        book.at(f"{second}s", memory=f"{memory} of 4Gi")
        recorded.append(any(isinstance(decision, RecordEvent) for decision in book.step.decisions))
        book.left = []
    assert recorded == [True, False, False, True, False]


@BOTH
def test_a_dry_run_has_no_victims_and_waits_for_none(policy: Policy) -> None:
    """Neither in its state nor in its findings, also for a victim that was chosen before the dry run began."""
    book = Playbook(hard_memory(policy), pods=[A, B], usage=MEMORY)
    book.at("0s", memory="500Mi of 4Gi").conditions("MemoryPressure").evicts("a").in_phase(PhaseName.CLEANING_UP)
    book.at("1s", memory="500Mi of 4Gi", dry_run=True, gone=[]).evicts("a")
    assert not book.findings(NoAction)
    assert (book.state.in_flight, book.state.activity) == ((), PhaseName.WATCHING)
    book.finish()


def test_a_dry_run_without_thresholds_has_no_victims_either() -> None:
    left = replace(State(), in_flight=(Victim(uid="u"),), phase=CleaningUp(until=NOW))
    settings = replace(config(policy=Policy.KUBELET), local_storage_capacity_isolation=False)
    dry = replace(observe(4 * GI), outcomes=Outcomes(dry_run=True))
    assert synchronize(left, dry, settings, NOW).state == State(dry_run=True, last_cycle_at=NOW)


def test_an_event_that_a_dry_run_only_decided_is_recorded_when_it_goes_live() -> None:
    state, later = replace(step(GI // 2).state, in_flight=()), NOW + SECOND
    assert not any(isinstance(each, RecordEvent) for each in step(GI // 2, state, later).decisions)
    live = step(GI // 2, replace(state, dry_run=True), later)
    assert any(isinstance(each, RecordEvent) for each in live.decisions)


# --- where the policies part ------------------------------------------------------------------------------------------


def test_a_dry_run_leaves_out_only_what_waits_for_a_decision_that_was_not_carried_out() -> None:
    settings = config(hard={"memory.available": "1Gi", "nodefs.available": "1Gi"})
    static = pod("static", source=PodSource.STATIC)
    for dry_run in (True, False):
        book = Playbook(settings, pods=[A, static], usage=[usage(A, memory="1Mi"), usage(static, memory="3Gi")])
        short: dict[str, Any] = {"memory": "500Mi of 4Gi", "nodefs": "500Mi of 9Gi", "dry_run": dry_run}
        book.at("0s", **short).conditions("MemoryPressure", "DiskPressure").reclaims("containers", "images")
        book.at("1s", collecting=[Filesystem.NODEFS], **short).does_nothing()
        expected = [NoActionReason.PROTECTED_CULPRIT] + [NoActionReason.WAITING_FOR_RELEASE] * (not dry_run)
        assert [each.why for each in book.findings(NoAction)] == expected


HOG = pod("hog", volumes=[empty_dir("data", size_limit="1Gi")])
OTHER = pod("other")


SHORT = Observation(
    node=node(memory="100Mi of 4Gi", nodefs="100Mi of 9Gi"),
    pods=(HOG,),
    pod_stats={HOG.uid: usage(HOG, memory="3Gi", volumes={"data": "2Gi"})},
)
"""A pod over the limit of its volume, on a node that is short of memory and disk."""


def decide(settings: EvictionConfig, observation: Observation, state: State | None = None) -> Step:
    return synchronize(state or State(), observation, settings, 0)


@BOTH
def test_nothing_is_collected_and_no_pod_goes_but_conditions_are_reported(policy: Policy) -> None:
    settings = config(hard={"memory.available": "1Gi", "nodefs.available": "1Gi"}, policy=policy)
    step = decide(settings, replace(SHORT, api_pods_standalone=True))
    assert not [each for each in step.decisions if isinstance(each, EvictPod | ReclaimNode)]
    (report,) = (each for each in step.decisions if isinstance(each, ReportConditions))
    assert set(report.conditions) == {NodeCondition.MEMORY_PRESSURE, NodeCondition.DISK_PRESSURE}
    refused = [each for each in step.findings if isinstance(each, NoAction)]
    assert {each.why for each in refused} == {NoActionReason.API_PODS_STANDALONE}
    assert {each.threshold.signal for each in refused if each.threshold} >= {
        Signal.MEMORY_AVAILABLE,
        Signal.NODEFS_AVAILABLE,
    }


@BOTH
def test_the_configuration_can_allow_it(policy: Policy) -> None:
    settings = config(hard={"memory.available": "1Gi"}, policy=policy)
    allowed = decide(replace(settings, allow_api_pods_standalone=True), replace(SHORT, api_pods_standalone=True))
    assert allowed.decisions == decide(settings, SHORT).decisions
    assert any(isinstance(each, EvictPod) for each in allowed.decisions)


@BOTH
def test_a_victim_from_before_the_refusal_is_kept_until_it_is_gone(policy: Policy) -> None:
    """A reload forbids evictions while a pod leaves, and another allows them again: no second pod goes meanwhile."""
    settings = config(hard={"memory.available": "1Gi"}, policy=policy)
    observation = replace(SHORT, pods=(HOG, OTHER), pod_stats={**SHORT.pod_stats, "other": usage(OTHER, memory="1Mi")})
    before = decide(settings, observation).state
    assert [victim.uid for victim in before.in_flight] == ["hog"]
    refused = synchronize(before, replace(observation, api_pods_standalone=True), settings, SECOND).state
    allowed = synchronize(refused, observation, settings, 2 * SECOND)
    assert not [each for each in allowed.decisions if isinstance(each, EvictPod)]
    gone = replace(observation, outcomes=Outcomes(cleaned_up=frozenset({"hog"})), api_pods_standalone=True)
    ended = synchronize(refused, gone, settings, 2 * SECOND).state
    assert ended.activity is PhaseName.WATCHING
    assert all(victim.gone_at is not None for victim in ended.in_flight)

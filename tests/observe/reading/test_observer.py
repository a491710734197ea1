"""One reading of a node: what each source is asked for, and what stays absent."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from evictd.clients.kube.pods import PodSnapshot
from evictd.codec.pods.manifest import Manifest, decode_manifest
from evictd.codec.pods.slim_pods import SlimPod
from evictd.core.eviction.synchronize import synchronize
from evictd.core.gc.container_gc import ContainerState, PodLifecycle
from evictd.core.model.config import MemoryFormula, Policy
from evictd.core.model.finding import ThresholdFinding
from evictd.core.model.observation import Filesystems, Observation, Outcomes, Problem
from evictd.core.model.resources import EPHEMERAL_STORAGE, Container
from evictd.core.model.signal import Filesystem, Signal
from evictd.core.model.state import Collection, Reclaiming, State, Victim
from evictd.core.model.threshold import Threshold
from evictd.core.units.duration import SECOND
from evictd.core.units.quantity import of_bytes
from evictd.errors import RuntimeUnavailableError
from evictd.observe.disk_usage.walk_age import LONGEST
from evictd.observe.pods.active_pods import StandalonePods
from evictd.observe.pods.cluster_pods import ClusterPods
from evictd.observe.pods.manifests import Manifests
from evictd.observe.reading.observer import (
    BESIDE,
    HELD_LISTING,
    OLDEST_LISTING,
    RUNTIME,
    NodeObserver,
    ObserveRequest,
)
from evictd.observe.runtime.runtime_view import RuntimeView
from evictd.observe.threshold_watch.recent_fill import RecentFill
from tests.daemon.world import CONFIG, DISK, GI, HARD, HOG, NOW, WALL, observe, step
from tests.observe.runtime_double import container, sandbox

VIEW = RuntimeView(time=NOW, sandboxes=(), containers=(), stats={})
REQUEST = ObserveRequest(now=NOW, wall=WALL, state=State(), config=CONFIG, outcomes=Outcomes())


class Source:
    """Statistics, runtime and manifests in one."""

    node_name = "n"
    memory_capacity = 16 * GI
    memory_formula = MemoryFormula.AUTO

    def __init__(self) -> None:
        self.recent_fill = RecentFill()
        self.asked: list[bool] = []
        self.asked_image_fs: list[bool] = []
        self.pods: Any = observe(4 * GI).pods
        self.seen: list[dict[str, Any]] = []
        self.down = False
        self.view = VIEW
        self.manifests: tuple[Manifest, ...] = ()
        self.described: Any = None
        self.uids: tuple[str, ...] = ()
        self.left_behind: frozenset[str] = frozenset()
        self.remembered: list[Any] = []
        self.measured_since: list[int] = []
        self.disks_read_at = NOW

    def pod_uids(self) -> tuple[str, ...]:
        return self.uids

    def measure_since(self, since: int) -> None:
        self.measured_since.append(since)

    def any_containers(self, uids: Iterable[str]) -> bool:
        return not self.left_behind.issuperset(uids)

    def read(
        self,
        now: int = 0,
        *,
        with_stats: bool = True,
        with_image_fs: bool = True,
        described: Any = None,
    ) -> Any:
        if now == 0:
            return Manifests(found=self.manifests)
        self.described = described
        self.asked.append(with_stats)
        self.asked_image_fs.append(with_image_fs)
        if self.down:
            raise RuntimeUnavailableError("no answer")
        return replace(self.view, time=now, stats={} if with_stats else None)

    def observe(self, pods: Any, view: Any, **how: Any) -> Observation:
        self.seen.append({"pods": pods, "view": view, **how})
        return observe(4 * GI)

    own_pods = frozenset({"own"})

    @property
    def snapshot(self) -> PodSnapshot:
        listed = {pod.uid: SlimPod(pod=pod) for pod in self.pods or ()}
        return PodSnapshot(pods=listed, synced=self.pods is not None)

    def completed(self, pods: Any) -> Any:
        return tuple(replace(pod, priority=7) for pod in pods)

    def remember(self, pods: Any) -> None:
        self.remembered.append(pods)


@pytest.fixture
def source() -> Source:
    return Source()


def observer_of(source: Any) -> NodeObserver:
    return NodeObserver(source, source, source, StandalonePods())


def bound_observer_of(source: Any) -> NodeObserver:
    return NodeObserver(source, source, source, ClusterPods(source, source.own_pods, remembered=source))


def test_a_reading_has_the_observation_and_what_actuators_need(source: Source) -> None:
    reading = observer_of(source).observe(REQUEST)
    assert (reading.now, reading.wall) == (NOW, WALL)
    assert reading.view is not None
    assert reading.lifecycles is not None
    assert reading.lifecycles.all_sources_ready


def test_nothing_is_collected_by_an_incomplete_listing(source: Source) -> None:
    source.view = replace(VIEW, complete=False)
    reading = observer_of(source).observe(REQUEST)
    assert reading.view is not None
    assert reading.lifecycles is None


def test_a_runtime_that_does_not_answer_is_a_problem_and_no_pod_is_known(source: Source) -> None:
    source.down = True
    reading = observer_of(source).observe(REQUEST)
    assert reading.view is None
    assert reading.lifecycles is None
    assert [problem.source for problem in reading.observation.problems] == [RUNTIME]
    assert source.seen[0]["pods"] == ()


def test_the_last_known_pods_stay_in_use_when_a_listing_fails(source: Source) -> None:
    source.view = replace(VIEW, sandboxes=(sandbox("u"),), pod_cgroups={"u": "/kubepods/podu"})
    observer = observer_of(source)
    observer.observe(REQUEST)
    source.down = True
    reading = observer.observe(REQUEST)
    assert [pod.uid for pod in source.seen[1]["pods"]] == ["u"]
    assert reading.view is not None
    assert (reading.view.pod_cgroups, reading.view.current) == ({"u": "/kubepods/podu"}, False)
    assert reading.lifecycles is None, "nothing may be collected on an old listing"
    assert [problem.source for problem in reading.observation.problems] == [RUNTIME]


def test_a_listing_that_works_again_replaces_the_last_known_pods(source: Source) -> None:
    source.view = replace(VIEW, sandboxes=(sandbox("u"),))
    observer = observer_of(source)
    observer.observe(REQUEST)
    source.down = True
    observer.observe(REQUEST)
    source.down, source.view = False, VIEW
    reading = observer.observe(REQUEST)
    assert reading.view is not None
    assert reading.view.current
    assert reading.lifecycles is not None
    assert source.seen[2]["pods"] == ()


def test_policy_kubelet_keeps_no_listing(source: Source) -> None:
    source.view = replace(VIEW, sandboxes=(sandbox("u"),))
    observer, kubelet = observer_of(source), replace(REQUEST, config=replace(CONFIG, policy=Policy.KUBELET))
    observer.observe(kubelet)
    source.down = True
    assert observer.observe(kubelet).view is None
    assert source.seen[1]["pods"] == ()


def test_the_runtime_is_not_asked_about_pods_that_a_manifest_describes(source: Source) -> None:
    source.manifests = (decode_manifest({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "uid": "u"}}),)
    reading = observer_of(source).observe(REQUEST)
    assert [source.described(sandbox(uid)) for uid in ("u", "other")] == [True, False]
    assert reading.lifecycles is not None
    assert reading.lifecycles.of("u") is PodLifecycle.ACTIVE


def test_an_urgent_reading_asks_for_no_statistics_that_only_disks_need(source: Source) -> None:
    observer = observer_of(source)
    observer.observe(REQUEST)
    source.uids = ("new",)
    observer.observe(replace(REQUEST, urgent=True))
    assert source.asked == [True, False]
    assert source.seen[1]["view"].stats == {}


CALM = replace(REQUEST, findings=step(4 * GI, disk=90).findings)
NEAR = replace(REQUEST, findings=step(4 * GI, disk=55).findings)


def test_statistics_of_containers_are_asked_for_only_when_a_filesystem_is_near_a_threshold(source: Source) -> None:
    """110 pods: containerd and its shims rose by 2.5 % of a core."""
    observer = observer_of(source)
    for request in (REQUEST, *[CALM] * 10, NEAR, CALM):
        observer.observe(request)
    assert source.asked == [True, *[False] * 10, True, False]
    assert all(source.asked_image_fs), "imagefs is a signal on a calm node too"


def test_a_disk_that_fills_since_the_last_cycle_has_its_pods_measured(source: Source) -> None:
    """By the readings between two cycles: at 1 GiB/s what is left lasts for less than ten minutes."""
    observer = observer_of(source)
    observer.observe(CALM)
    for at in (0, 1):
        source.recent_fill.add(Signal.NODEFS_AVAILABLE, (91 - at) * GI, at * SECOND)
    observer.observe(CALM)
    assert [bool(each["near"]) for each in source.seen] == [False, True]


def test_what_was_known_of_layers_stays_known_on_a_calm_node(source: Source) -> None:
    observer = observer_of(source)
    observer.observe(REQUEST)
    reading = observer.observe(CALM)
    assert reading.view is not None
    assert reading.view.stats == {}


def test_a_pod_with_a_limit_on_local_storage_has_its_layers_read_on_a_calm_node_too(source: Source) -> None:
    limited = replace(HOG, containers=(Container(name="main", limits={EPHEMERAL_STORAGE: of_bytes(GI)}),))
    observer = bound_observer_of(source)
    for pods in ((HOG,), (HOG,), (HOG, limited), (HOG,)):
        source.pods = pods
        observer.observe(CALM)
    observer.observe(CALM)
    assert source.asked == [True, False, False, True, False]


def test_pods_of_an_api_server_are_noticed_standalone(source: Source) -> None:
    """docs/faults.md, 9: evictd ran standalone beside a kubelet, and `kube-system/calico-node` was evicted first."""
    row = sandbox("u1")
    of_api, of_file = (replace(row, annotations={"kubernetes.io/config.source": text}) for text in ("api", "file"))
    observer = observer_of(source)

    def seen(rows: Any, **config: Any) -> tuple[bool, list[str]]:
        source.view = replace(VIEW, sandboxes=rows)
        asked = replace(REQUEST, config=replace(CONFIG, **config))
        found = observer.observe(asked).observation
        return found.api_pods_standalone, [each.source for each in found.problems]

    assert seen((of_file,)) == (False, [])
    assert seen((row,)) == (False, [])
    assert seen((of_api,)) == (True, ["standalone"])
    assert seen((of_api,), allow_api_pods_standalone=True) == (True, [])
    source.down = True
    assert seen((), policy=Policy.KUBELET) == (True, [RUNTIME, "standalone"])


def test_with_an_api_server_its_pods_are_no_reason_to_refuse(source: Source) -> None:
    source.view = replace(VIEW, sandboxes=(replace(sandbox("u1"), annotations={"kubernetes.io/config.source": "api"}),))
    observer = bound_observer_of(source)
    observation = observer.observe(REQUEST).observation
    assert not observation.api_pods_standalone
    assert observation.own_pods == {"own"}


def test_the_runtimes_pods_are_completed_until_the_api_server_has_listed_some(source: Source) -> None:
    """docs/faults.md, 9: after a restart during an outage every pod had priority 0 and no request."""
    source.view = replace(VIEW, sandboxes=(sandbox("u1"),))
    bound, source.pods = source.pods, None
    observer = bound_observer_of(source)
    observer.observe(REQUEST)
    source.pods = bound
    observer.observe(REQUEST)
    first, second = (seen["pods"] for seen in source.seen)
    assert [(pod.uid, pod.priority) for pod in first] == [("u1", 7)]
    assert sorted(pod.uid for pod in second) == sorted(pod.uid for pod in bound)


def test_a_kubelets_pod_that_runs_and_is_not_listed_is_one_all_the_same(source: Source) -> None:
    """A list without the hog made innocent pods go for it; a pod that is new, or of another creator, is not expected there."""
    of_api = {"kubernetes.io/config.source": "api"}
    rows = {
        "old": replace(sandbox("old"), annotations=of_api),
        "new": replace(sandbox("new"), annotations=of_api, created_at=WALL - SECOND),
        "static": replace(sandbox("static"), annotations={"kubernetes.io/config.source": "file"}),
        "crictl": sandbox("crictl"),
        "hog": replace(sandbox(HOG.uid), annotations=of_api),
    }
    source.view = replace(VIEW, sandboxes=tuple(rows.values()))
    observer = bound_observer_of(source)
    found = observer.observe(REQUEST).observation
    (seen,) = source.seen
    listed = [pod.uid for pod in sorted(source.pods, key=lambda pod: pod.full_name)]
    assert [pod.uid for pod in seen["pods"]] == [*listed, "old"]
    assert source.remembered == [seen["pods"][:-1]], "of the other the object is not known"
    assert [(each.source, each.detail.rpartition(": ")[2]) for each in found.problems] == [("apiserver/pods", "ns/web")]
    observer.observe(replace(REQUEST, config=replace(CONFIG, policy=Policy.KUBELET)))
    assert [pod.uid for pod in source.seen[-1]["pods"]] == listed


def test_policy_kubelet_asks_for_statistics_in_every_reading(source: Source) -> None:
    observer, kubelet = observer_of(source), replace(CALM, config=replace(CONFIG, policy=Policy.KUBELET))
    for _ in range(3):
        observer.observe(kubelet)
    assert source.asked == [True, True, True]


def test_walks_are_asked_for_by_the_fill_rate_of_the_disks(source: Source) -> None:
    """The findings of two cycles, one second apart, in which 1 GiB of the 9 GiB above the threshold was filled."""
    observer = observer_of(source)
    for at, disk in ((NOW, 59), (NOW + SECOND, 58)):
        observer.observe(replace(REQUEST, now=at, findings=step(4 * GI, disk=disk).findings))
    assert [how["walk_age"].longest for how in source.seen] == [LONGEST, 4 * SECOND]


RUNNING = replace(VIEW, sandboxes=(sandbox("u"),), containers=(container("c", "main", sandbox_id="sandbox-u"),))


def test_memory_that_was_crossed_is_decided_on_without_the_runtime(source: Source) -> None:
    """Beside 20 busy processes its listings took up to 100 ms, half of the time until the stop."""
    source.view, source.uids, source.left_behind = RUNNING, ("gone", "u"), frozenset({"gone"})
    observer = observer_of(source)
    observer.observe(CALM)
    reading = observer.observe(replace(CALM, now=NOW + OLDEST_LISTING, urgent=True))
    assert source.asked == [True]
    assert [pod.uid for pod in source.seen[1]["pods"]] == ["u"]
    assert reading.view == replace(RUNNING, wall=WALL, current=False)
    assert reading.lifecycles is None, "nothing may be collected on an old listing"
    observer.observe(CALM)
    assert len(source.asked) == 2, "the next reading lists anew"
    assert [how["disks_anew"] for how in source.seen] == [True, False, True]


URGENT = replace(CALM, urgent=True)
"""A cycle of a crossing of memory."""


def held(met: Threshold, *leaving: Victim) -> ObserveRequest:
    """A cycle while a decision for this threshold is held."""
    state = State(thresholds_met=(met,), in_flight=leaving)
    return replace(CALM, state=state, findings=NEAR.findings, now=NOW + HELD_LISTING)


HELD = held(DISK)


def test_while_a_decision_for_a_disk_is_held_the_last_listing_serves(source: Source) -> None:
    """Each listing took 30 to 60 ms of the 300 from the crossing to the stop; the disk is read anew all the same."""
    source.view, source.uids = RUNNING, ("u",)
    observer = observer_of(source)
    observer.observe(CALM)
    reading = observer.observe(HELD)
    assert source.asked == [True]
    assert [pod.uid for pod in source.seen[1]["pods"]] == ["u"]
    assert source.seen[1]["disks_anew"]
    assert reading.lifecycles is not None, "a collection may begin for another disk"


KUBELET = replace(CONFIG, policy=Policy.KUBELET)


@pytest.mark.parametrize(
    ("uids", "second"),
    [
        pytest.param(("u",), CALM, id="neither urgent nor held"),
        pytest.param(("u",), replace(URGENT, now=NOW + OLDEST_LISTING + 1), id="urgent: old"),
        pytest.param(("u",), replace(URGENT, config=KUBELET), id="urgent: policy Kubelet"),
        pytest.param(("u",), replace(URGENT, findings=NEAR.findings), id="urgent: a near filesystem may be collected"),
        pytest.param(("u", "new"), URGENT, id="urgent: a new pod"),
        pytest.param((), URGENT, id="urgent: the pod is gone"),
        pytest.param(("u",), replace(HELD, now=NOW + HELD_LISTING + 1), id="held: old"),
        pytest.param(("u",), replace(HELD, config=KUBELET), id="held: policy Kubelet"),
        pytest.param(("u",), held(replace(DISK, grace_period=SECOND)), id="held: soft"),
        pytest.param(("u",), held(HARD), id="held: no disk"),
        pytest.param(("u",), held(DISK, Victim(uid="u", cause=None)), id="held: a victim leaves"),
        pytest.param(("u", "new"), HELD, id="held: a new pod"),
        pytest.param((), HELD, id="held: the pod is gone"),
    ],
)
def test_the_runtime_lists_anew_where_its_last_listing_may_be_wrong(
    source: Source, uids: tuple[str, ...], second: ObserveRequest
) -> None:
    source.view, source.uids = RUNNING, uids
    observer = observer_of(source)
    observer.observe(CALM)
    observer.observe(second)
    assert len(source.asked) == 2


def test_after_a_crossing_of_a_disk_pods_are_measured_while_the_runtime_lists(source: Source) -> None:
    observer = observer_of(source)
    observer.observe(replace(REQUEST, disk_crossed=True))
    observer.observe(REQUEST)
    assert source.measured_since == [NOW]
    assert [how["walk_age"].since for how in source.seen] == [NOW, 0]


def test_a_held_decision_lists_anew_what_was_listed_before_the_crossing(source: Source) -> None:
    """A runtime that measures layers as it lists them has only ones from before it; a decision would wait for `HELD_LISTING`."""
    source.view, source.uids = RUNNING, ("u",)
    observer = observer_of(source)
    observer.observe(CALM)
    crossed = replace(HELD.state, thresholds_first_observed_at={DISK: NOW + 1})
    tested = (each for each in NEAR.findings if isinstance(each, ThresholdFinding) and each.threshold == DISK)
    findings = tuple(replace(each, met=True) for each in tested)
    for _ in range(2):
        observer.observe(replace(HELD, now=NOW + 2, state=crossed, findings=findings))
    assert len(source.asked) == 2


def test_a_reading_that_is_held_up_is_of_the_time_at_which_it_had_read_the_disks(source: Source) -> None:
    """A walk that began before the halt saw an empty layer; it must not count as newer than the crossing seen after it."""
    source.disks_read_at = halted = NOW + 7 * SECOND
    reading = observer_of(source).observe(REQUEST)
    assert (reading.now, reading.wall) == (halted, WALL + 7 * SECOND)
    crossed = synchronize(State(), observe(4 * GI, disk=40), CONFIG, reading.now).state
    assert crossed.thresholds_first_observed_at[DISK] == halted


@pytest.mark.parametrize(
    "awaiting",
    [
        State(in_flight=(Victim(uid="u", cause=None),)),
        State(leaving=(Victim(uid="u", cause=None),)),
        State(collections={Filesystem.NODEFS: Collection(begun=1, until=NOW)}),
        State(page_cache=Collection(begun=1, until=NOW)),
        State(phase=Reclaiming(threshold=DISK, due=(DISK,), before=observe(GI))),
    ],
)
def test_a_reading_is_of_its_begin_while_an_outcome_is_awaited(source: Source, awaiting: State) -> None:
    """A runtime that lists for seconds made a victim overdue that had ended meanwhile: another pod would go in its place."""
    source.disks_read_at = NOW + 7 * SECOND
    assert observer_of(source).observe(replace(REQUEST, state=awaiting)).now == NOW


@pytest.mark.parametrize(("took", "later"), [(BESIDE, 0), (BESIDE + 1, BESIDE + 1)])
def test_measurements_beside_the_listing_count_after_a_crossing_unless_it_took_long(
    source: Source, took: int, later: int
) -> None:
    source.disks_read_at = NOW + took
    assert observer_of(source).observe(replace(REQUEST, disk_crossed=True)).now == NOW + later


def test_a_reading_without_the_disks_is_of_the_time_at_which_it_began(source: Source) -> None:
    source.disks_read_at = NOW - SECOND
    assert observer_of(source).observe(REQUEST).now == NOW


def test_a_pod_that_had_only_ended_containers_is_listed_anew(source: Source) -> None:
    """One of them may have been started again, and be the one that fills memory."""
    ended = tuple(replace(each, state=ContainerState.EXITED) for each in RUNNING.containers)
    source.view, source.uids = replace(RUNNING, containers=ended), ("u",)
    observer = observer_of(source)
    observer.observe(CALM)
    observer.observe(replace(CALM, urgent=True))
    assert len(source.asked) == 2


def test_the_first_reading_is_never_urgent(source: Source) -> None:
    observer_of(source).observe(replace(REQUEST, urgent=True))
    assert source.asked == [True]


# --- calm cycles ------------------------------------------------------------------------------------------------------

FAR = 12 * GI
FAR_CONFIG = replace(CONFIG, thresholds=(HARD,))
LATER = 10 * SECOND


class CalmSource(Source):
    """A node far from its threshold, of which also a reading without pods can be taken."""

    def __init__(self) -> None:
        super().__init__()
        self.available = FAR
        self.uids = ("uid-hog",)
        self.view = replace(VIEW, sandboxes=(sandbox("uid-hog"),))
        self.trouble: tuple[Problem, ...] = ()

    def observe(self, pods: Any, view: Any, **how: Any) -> Observation:
        self.seen.append({"pods": pods, "view": view, **how})
        return replace(observe(self.available, pods=(HOG,)), problems=self.trouble)

    def observe_node(self, last: Observation, view: Any, **how: Any) -> Observation:
        self.seen.append({"view": view, "last": last, **how})
        found = observe(self.available, pods=(HOG,))
        return replace(last, node=found.node, problems=self.trouble, pods_read=False)


def calm_request(after: int = LATER, **changes: Any) -> ObserveRequest:
    """A request of a cycle that only the time began."""
    state = State(filesystems=Filesystems())
    request = ObserveRequest(
        now=NOW + after, wall=WALL + after, state=state, config=FAR_CONFIG, outcomes=Outcomes(), pods_anew=False
    )
    return replace(request, **changes)


def read_before(source: CalmSource, findings: Any = ()) -> NodeObserver:
    """An observer that has read the pods once."""
    observer = observer_of(source)
    observer.observe(calm_request(0, findings=findings))
    return observer


FAR_FINDINGS = synchronize(State(), observe(FAR, pods=(HOG,)), FAR_CONFIG, NOW).findings


def test_a_calm_cycle_asks_neither_the_runtime_nor_the_pods() -> None:
    source = CalmSource()
    observer = read_before(source)
    reading = observer.observe(calm_request(findings=FAR_FINDINGS))
    assert len(source.asked) == 1
    assert source.seen[1]["last"] is not None
    assert not reading.observation.pods_read
    assert reading.observation.pod_stats.keys() == {HOG.uid}
    assert reading.view is not None
    assert (reading.view.current, reading.lifecycles) == (False, None)


def test_signals_that_turn_out_near_a_threshold_are_read_with_the_pods_in_the_same_cycle() -> None:
    source = CalmSource()
    observer = read_before(source)
    source.available = GI + 1
    reading = observer.observe(calm_request(findings=FAR_FINDINGS))
    assert reading.observation.pods_read
    assert len(source.asked) == 2


@pytest.mark.parametrize(
    "changes",
    [{"pods_anew": True}, {"now": NOW + 30 * SECOND}, {"config": replace(FAR_CONFIG, policy=Policy.KUBELET)}],
    ids=["asked for", "half a window later", "policy Kubelet"],
)
def test_pods_are_read_where_the_rule_says_so(changes: dict[str, Any]) -> None:
    source = CalmSource()
    observer = read_before(source)
    assert observer.observe(calm_request(findings=FAR_FINDINGS, **changes)).observation.pods_read


def test_a_pod_that_came_or_went_is_read_in_the_next_cycle() -> None:
    source = CalmSource()
    observer = read_before(source)
    source.uids, source.view = ("uid-new",), replace(VIEW, sandboxes=(sandbox("uid-new"),))
    assert observer.observe(calm_request(findings=FAR_FINDINGS)).observation.pods_read
    assert not observer.observe(calm_request(2 * LATER, findings=FAR_FINDINGS)).observation.pods_read


def test_a_pod_that_runs_and_was_not_listed_yet_is_read_in_the_next_cycle() -> None:
    """Its cgroup was there before the listing, its sandbox was not: 30 s without it, and without its limits, would follow."""
    source = CalmSource()
    source.uids = ("uid-hog", "uid-new")
    observer = read_before(source)
    assert observer.observe(calm_request(findings=FAR_FINDINGS)).observation.pods_read
    source.left_behind = frozenset({"uid-new"})
    assert not observer.observe(calm_request(2 * LATER, findings=FAR_FINDINGS)).observation.pods_read


def test_a_manifest_that_changed_is_read_with_the_pods() -> None:
    source = CalmSource()
    observer = read_before(source)
    source.manifests = (decode_manifest({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "m"}}),)
    assert observer.observe(calm_request(findings=FAR_FINDINGS)).observation.pods_read


def test_a_problem_that_begins_or_stays_with_a_pod_is_looked_at_anew() -> None:
    source = CalmSource()
    observer = read_before(source)
    source.trouble = (Problem(source="imagefs", detail="slow"),)
    assert observer.observe(calm_request(findings=FAR_FINDINGS)).observation.pods_read
    assert not observer.observe(calm_request(2 * LATER, findings=FAR_FINDINGS)).observation.pods_read
    source.down = True
    assert observer.observe(calm_request(4 * LATER, findings=FAR_FINDINGS)).observation.pods_read
    assert observer.observe(calm_request(5 * LATER, findings=FAR_FINDINGS)).observation.pods_read

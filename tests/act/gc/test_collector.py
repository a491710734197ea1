"""The collectors' thread on a real containerd: it never blocks the loop, and periods are counted by `now`."""

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from evictd.act.gc.collector import Collector, NodeMoment
from evictd.act.gc.containers import ContainerCollector
from evictd.act.gc.images import ImageCollector
from evictd.act.logs import PodLogs
from evictd.clients.cri.client import CriClient
from evictd.core.gc.container_gc import PodLifecycle, PodLifecycles
from evictd.core.model.config import EvictionConfig, ImageGCPolicy, ImageReclaim
from evictd.core.model.decision import ReclaimNode
from evictd.core.model.observation import Reclaim, ReclaimOutcome
from evictd.core.model.signal import Signal
from evictd.core.model.stats import FsStats
from evictd.core.model.threshold import Threshold, ThresholdValue
from evictd.core.units.duration import MINUTE
from evictd.core.units.quantity import of_bytes
from evictd_testnode.images import ImageRecipe
from evictd_testnode.node import DisposableNode
from evictd_testnode.pods import PodRecipe
from evictd_testnode.tool import wait_for
from tests.recorded_errors import RecordedErrors
from tests.threads import no_thread_to_give

pytestmark = [pytest.mark.root, pytest.mark.containerd]

THRESHOLD = Threshold(signal=Signal.IMAGEFS_AVAILABLE, value=ThresholdValue(quantity=of_bytes(1)))
BOTH = ReclaimNode(actions=(Reclaim.CONTAINERS, Reclaim.IMAGES), threshold=THRESHOLD)
APP = ImageRecipe(reference="localhost/app:1", padding_bytes=1 << 20)
FULL = FsStats(capacity_bytes=1 << 40, available_bytes=0)

Maker = Callable[..., Collector]


@pytest.fixture
def make(node: DisposableNode) -> Iterator[Maker]:
    made: list[Collector] = []

    def collector(client: CriClient | None = None, fs: FsStats | None = FULL, **config: object) -> Collector:
        eviction = EvictionConfig(image_gc=ImageGCPolicy(min_age=0), **config)  # type: ignore[arg-type]
        runtime = client or node.client
        containers = ContainerCollector(runtime, eviction.container_gc, PodLogs(node.log_folder))
        images = ImageCollector(runtime, eviction.image_gc, image_fs=lambda: fs, running_since=0)
        made.append(Collector(containers, images, eviction))
        return made[-1]

    yield collector
    for each in made:
        each.close()


def moment(now: int, lifecycles: dict[str, PodLifecycle] | None = None) -> NodeMoment:
    return NodeMoment(now=now, wall=time.time_ns(), lifecycles=PodLifecycles(by_uid=lifecycles or {}))


def outcomes(collector: Collector) -> tuple[ReclaimOutcome, ...]:
    assert wait_for(lambda: collector.progress() is not None)
    return collector.progress() or ()


def tags(node: DisposableNode) -> set[str]:
    return {tag for image in node.client.list_images() for tag in image.repo_tags}


def test_containers_are_removed_first_so_that_the_same_request_removes_their_images(
    node: DisposableNode, make: Maker
) -> None:
    node.import_images([APP])
    pod = node.run_pod(PodRecipe(name="web"))
    node.client.stop_container(pod.container_id, 0)
    node.client.stop_sandbox(pod.sandbox_id)
    collector = make()
    collector.begin(BOTH, moment(MINUTE, {pod.uid: PodLifecycle.TERMINATED}))
    done = outcomes(collector)
    assert [(outcome.action, outcome.error) for outcome in done] == [(Reclaim.CONTAINERS, ""), (Reclaim.IMAGES, "")]
    assert done[0].removed == 1
    assert tags(node) == {"localhost/pause:1"}
    node.import_images([])


def test_only_the_requested_actions_are_performed(node: DisposableNode, make: Maker) -> None:
    node.import_images([APP])
    collector = make()
    collector.begin(ReclaimNode(actions=(Reclaim.CONTAINERS,), threshold=THRESHOLD), moment(MINUTE))
    assert [outcome.action for outcome in outcomes(collector)] == [Reclaim.CONTAINERS]
    assert APP.reference in tags(node)


def test_the_loop_is_never_blocked_by_a_runtime_that_does_not_answer(node: DisposableNode, make: Maker) -> None:
    answered = threading.Event()

    class Slow(CriClient):
        """Blocks until the test releases it."""

        def list_sandboxes(self, uid=""):  # type: ignore[no-untyped-def]
            answered.wait(20)
            return super().list_sandboxes(uid)

    with Slow(node.endpoint) as client:
        collector = make(client)
        collector.begin(BOTH, moment(MINUTE))
        collector.perform_duties(moment(MINUTE))
        assert collector.progress() is None
        answered.set()
        assert len(outcomes(collector)) == 2


def test_periodic_collections_are_due_by_now(node: DisposableNode, make: Maker) -> None:
    collector = make()

    def events_at(now: int) -> list[str]:
        collector.perform_duties(moment(now))
        collector.begin(ReclaimNode(actions=(), threshold=THRESHOLD), moment(now))
        outcomes(collector)
        return [event.reason for event in collector.take_events()]

    node.import_images([APP])
    assert events_at(MINUTE) == ["FreeDiskSpaceFailed"]
    assert APP.reference not in tags(node)
    node.import_images([APP])
    assert events_at(2 * MINUTE) == []
    assert events_at(6 * MINUTE - 1) == []
    assert events_at(6 * MINUTE) == ["FreeDiskSpaceFailed", "ImageGCFailed"]
    assert collector.take_events() == ()
    node.import_images([])


def test_off_removes_no_image_but_keeps_the_records(node: DisposableNode, make: Maker) -> None:
    node.import_images([APP])
    collector = make(reclaim_images=ImageReclaim.OFF)
    collector.perform_duties(moment(MINUTE))
    assert wait_for(lambda: len(collector.image_records) == len(node.client.list_images()))
    assert APP.reference in tags(node)


def test_each_failing_container_collection_is_an_event(make: Maker, make_node: Callable[..., DisposableNode]) -> None:
    gone = make_node()
    gone.containerd.kill()
    with CriClient(gone.endpoint) as client:
        collector = make(client)
        collector.perform_duties(moment(MINUTE))
        collector.begin(ReclaimNode(actions=(), threshold=THRESHOLD), moment(MINUTE))
        outcomes(collector)
        assert [event.reason for event in collector.take_events()] == ["ContainerGCFailed"]


def test_containers_off_means_no_periodic_collection(make: Maker, make_node: Callable[..., DisposableNode]) -> None:
    gone = make_node()
    gone.containerd.kill()
    with CriClient(gone.endpoint) as client:
        collector = make(client, reclaim_containers=False)
        collector.perform_duties(moment(MINUTE))
        collector.begin(ReclaimNode(actions=(), threshold=THRESHOLD), moment(MINUTE))
        outcomes(collector)
        assert collector.take_events() == ()


def test_another_configuration_applies_from_the_next_request(node: DisposableNode, make: Maker) -> None:
    node.import_images([APP])
    collector = make()
    collector.reconfigure(EvictionConfig(image_gc=ImageGCPolicy(min_age=0, keep=("localhost/*",))))
    collector.begin(BOTH, moment(MINUTE))
    assert [outcome.removed for outcome in outcomes(collector)] == [0, 0]


def test_the_outcome_of_a_replaced_request_is_dropped(node: DisposableNode, make: Maker) -> None:
    node.import_images([APP])
    collector = make()
    collector.begin(BOTH, moment(MINUTE))
    collector.begin(ReclaimNode(actions=(Reclaim.CONTAINERS,), threshold=THRESHOLD), moment(MINUTE))
    assert [outcome.action for outcome in outcomes(collector)] == [Reclaim.CONTAINERS]
    node.import_images([])


def test_an_unforeseen_exception_is_reported_and_each_request_has_outcomes(node: DisposableNode) -> None:
    def stumble() -> FsStats | None:
        raise LookupError("no such thing")

    errors = RecordedErrors()
    eviction = EvictionConfig()
    collector = Collector(
        ContainerCollector(node.client, eviction.container_gc, PodLogs(node.log_folder)),
        ImageCollector(node.client, eviction.image_gc, image_fs=stumble, running_since=0),
        eviction,
        errors=errors,
    )
    try:
        collector.perform_duties(moment(MINUTE))
        assert wait_for(lambda: bool(errors))
        assert errors[0][0] == "collect"
        assert errors[0][1].startswith("unforeseen: LookupError: no such thing")
        collector.begin(BOTH, moment(MINUTE))
        done = outcomes(collector)
        assert [(outcome.action, outcome.error.partition(" (")[0]) for outcome in done] == [
            (Reclaim.CONTAINERS, ""),
            (Reclaim.IMAGES, "unforeseen: LookupError: no such thing"),
        ]
    finally:
        collector.close()


def test_a_closed_collector_has_no_thread(make: Maker) -> None:
    collector = make()
    collector.begin(ReclaimNode(actions=(), threshold=THRESHOLD), moment(MINUTE))
    outcomes(collector)
    collector.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "collect"]


def test_a_thread_that_cannot_start_is_reported_and_retried(make: Maker) -> None:
    """The request gets an outcome at once, so the eviction does not wait."""
    errors = RecordedErrors()
    collector = make()
    collector._errors = errors
    problem = "cannot start the collector's thread: can't start new thread"
    with no_thread_to_give():
        collector.begin(BOTH, moment(MINUTE))
        assert [(each.action, each.error) for each in collector.progress() or ()] == [
            (Reclaim.CONTAINERS, problem),
            (Reclaim.IMAGES, problem),
        ]
        collector.perform_duties(moment(MINUTE))
        collector.perform_duties(moment(MINUTE))
    assert errors == [("collect", problem)]
    collector.begin(BOTH, moment(2 * MINUTE))
    assert [each.error for each in outcomes(collector)] == ["", ""]

"""Each rule of termination on a real containerd, of every version that can be had."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from evictd.act.stop.stopper import PodStopper
from evictd.act.stop.termination import Termination
from evictd.act.stop.victim_cgroups import VictimCgroups
from evictd.act.volumes import remove_empty_dirs
from evictd.clients.cri.channel import Pending
from evictd.clients.cri.client import CriClient
from evictd.clients.cri.values import SandboxState
from evictd.core.eviction.time_left import THAWED_TIME
from evictd.core.gc.container_gc import ContainerState
from evictd.core.units.duration import SECOND
from evictd.observe.cgroups.cgroup import pod_cgroups
from evictd_testnode.cgroups import group, pids_of
from evictd_testnode.images import ImageRecipe
from evictd_testnode.node import DisposableNode
from evictd_testnode.pods import IGNORE_TERM, WAIT_FOR_TERM, ContainerRecipe, PodRecipe, RunningPod, VolumeRecipe
from evictd_testnode.tool import wait_for
from tests.conftest import NodeFactory
from tests.recorded_errors import RecordedErrors

needs_v1 = pytest.mark.skipif(
    not group("freezer", "/").joinpath("cgroup.procs").exists(), reason="needs the freezer of cgroup v1"
)
pytestmark = [pytest.mark.root, pytest.mark.containerd]


def clock() -> int:
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


@pytest.fixture
def terminator(each_node: DisposableNode) -> Iterator[PodStopper]:
    with PodStopper(each_node.client, clock=clock) as made:
        yield made


def begin(terminator: PodStopper, pod: RunningPod, grace_seconds: int) -> Termination:
    return terminator.begin(
        pod.uid, containers=pod.containers.values(), sandboxes=[pod.sandbox_id], grace_seconds=grace_seconds
    )


@pytest.fixture
def deaf(each_node: DisposableNode) -> RunningPod:
    """A pod that ignores SIGTERM."""
    pod = each_node.run_pod(PodRecipe(name="deaf", containers=(ContainerRecipe(script=IGNORE_TERM),)))
    await_log(pod, "ready")
    return pod


def await_end(terminator: PodStopper, pod: RunningPod, seconds: float = 60) -> Termination:
    def finished() -> bool:
        state = terminator.progress(pod.uid)
        return state is not None and state.finished

    assert wait_for(finished, seconds=seconds), terminator.progress(pod.uid)
    state = terminator.progress(pod.uid)
    assert state is not None
    return state


def await_log(pod: RunningPod, word: str, container: str = "") -> None:
    assert wait_for(lambda: word in pod.log(container)), pod.log(container)


def states(node: DisposableNode, pod: RunningPod) -> set[ContainerState]:
    return {item.state for item in node.client.list_containers() if item.sandbox_id == pod.sandbox_id}


def assert_dead(node: DisposableNode, pod: RunningPod) -> None:
    assert states(node, pod) <= {ContainerState.EXITED}
    assert [item.state for item in node.client.list_sandboxes() if item.uid == pod.uid] == [SandboxState.NOT_READY]
    assert not (group("pids", pod.cgroup_parent) / pod.container_id / "cgroup.procs").exists()


def test_a_container_that_heeds_sigterm_ends_within_its_grace(
    each_node: DisposableNode, terminator: PodStopper
) -> None:
    pod = each_node.run_pod(
        PodRecipe(
            name="graceful",
            containers=(ContainerRecipe(script="trap 'echo bye; exit 0' TERM; echo ready; sleep 1000 & wait"),),
        )
    )
    started = begin(terminator, pod, 30)
    assert not started.finished
    assert set(started.remaining) == {pod.container_id, pod.sandbox_id}
    state = await_end(terminator, pod)
    assert (state.attempts, state.errors, state.remaining) == (1, (), ())
    assert set(state.stopped) == {pod.container_id, pod.sandbox_id}
    assert state.finished_at is not None
    assert state.finished_at < state.grace_ends_at
    assert each_node.client.container_status(pod.container_id).exit_code == 0
    assert "bye" in pod.log()
    assert_dead(each_node, pod)


def test_a_pod_that_is_forgotten_while_it_stops_leaves_no_record(
    each_node: DisposableNode, terminator: PodStopper
) -> None:
    """It is stopped all the same; begun again it is followed again."""
    pod = each_node.run_pod(PodRecipe(name="stubborn", containers=(ContainerRecipe(script=IGNORE_TERM),)))
    begin(terminator, pod, 2)
    terminator.forget(pod.uid)
    assert terminator.progress(pod.uid) is not None
    assert wait_for(lambda: terminator.progress(pod.uid) is None)
    assert_dead(each_node, pod)
    begin(terminator, pod, 1)
    terminator.forget(pod.uid)
    begin(terminator, pod, 1)
    await_end(terminator, pod)
    terminator.forget(pod.uid)
    assert terminator.progress(pod.uid) is None


def test_begun_without_its_sandbox_a_container_started_since_has_its_grace(
    each_node: DisposableNode, terminator: PodStopper
) -> None:
    """As a restart of the daemon takes victims up: a sandbox that is stopped takes whatever runs in it along at once."""
    containers = (
        ContainerRecipe(name="known", script=WAIT_FOR_TERM),
        ContainerRecipe(name="new", script="trap 'sleep 1; echo bye; exit 0' TERM; echo ready; sleep 1000 & wait"),
    )
    pod = each_node.run_pod(PodRecipe(name="resumed", containers=containers))
    await_log(pod, "ready", "new")
    terminator.begin(pod.uid, containers=[pod.containers["known"]], sandboxes=(), grace_seconds=30)
    state = await_end(terminator, pod)
    assert state.attempts == 2
    assert "bye" in pod.log("new")
    assert_dead(each_node, pod)


class Faulty:
    """A client that raises an unforeseen exception when it is to stop one sandbox, so many times."""

    def __init__(self, client: CriClient) -> None:
        self.begin_stop_container = client.begin_stop_container
        self.begin_list_containers = client.begin_list_containers
        self.begin_list_sandboxes = client.begin_list_sandboxes
        self._stop_sandbox = client.begin_stop_sandbox
        self.broken = ""
        self.times = 2

    def begin_stop_sandbox(self, sandbox_id: str) -> Pending[None]:
        if sandbox_id == self.broken and self.times:
            self.times -= 1
            raise KeyError("lost")
        return self._stop_sandbox(sandbox_id)


def test_an_unforeseen_exception_at_one_pod_is_reported_once_and_the_next_pod_is_stopped(
    each_node: DisposableNode,
) -> None:
    """The pod is tried again after a rest, and goes when it can."""
    errors = RecordedErrors()
    first, second = (each_node.run_pod(PodRecipe(name=name)) for name in ("first", "second"))
    calls = Faulty(each_node.client)
    calls.broken = first.sandbox_id
    with PodStopper(calls, clock=clock, errors=errors) as terminator:
        begin(terminator, first, 5)
        begin(terminator, second, 5)
        await_end(terminator, second)
        await_end(terminator, first)
    (once,) = errors.details
    assert once.startswith("unforeseen: KeyError: 'lost'")
    assert calls.times == 0
    assert_dead(each_node, first)
    assert_dead(each_node, second)


def test_begin_returns_at_once_and_the_others_live(each_node: DisposableNode, terminator: PodStopper) -> None:
    victim = each_node.run_pod(PodRecipe(name="stubborn", containers=(ContainerRecipe(script=IGNORE_TERM),)))
    innocent = each_node.run_pod(PodRecipe(name="innocent"))
    state = begin(terminator, victim, 2)
    assert not state.finished
    assert terminator.in_flight() == (state,)
    await_end(terminator, victim)
    assert terminator.in_flight() == ()
    assert states(each_node, innocent) == {ContainerState.RUNNING}


def test_a_container_that_ignores_sigterm_is_killed_when_its_grace_is_over(
    each_node: DisposableNode, terminator: PodStopper
) -> None:
    pod = each_node.run_pod(PodRecipe(name="ignores", containers=(ContainerRecipe(script=IGNORE_TERM),)))
    state = begin(terminator, pod, 2)
    assert state.grace_ends_at - state.started_at == 2 * SECOND
    ended = await_end(terminator, pod)
    assert ended.finished_at is not None
    assert ended.finished_at >= ended.grace_ends_at
    assert each_node.client.container_status(pod.container_id).exit_code == 137
    assert_dead(each_node, pod)


def test_all_containers_of_a_pod_are_stopped_side_by_side(each_node: DisposableNode, terminator: PodStopper) -> None:
    names = ("one", "two", "three", "four")
    containers = tuple(ContainerRecipe(name=name, script=IGNORE_TERM) for name in names)
    pod = each_node.run_pod(PodRecipe(name="many", containers=containers))
    begin(terminator, pod, 3)
    await_end(terminator, pod)
    finished = [each_node.client.container_status(each).finished_at for each in pod.containers.values()]
    assert max(finished) - min(finished) < 9 * SECOND, "one after the other each would have its 3 s"
    assert_dead(each_node, pod)


def test_a_grace_already_running_is_shortened_and_never_lengthened(
    each_node: DisposableNode, terminator: PodStopper
) -> None:
    pod = each_node.run_pod(PodRecipe(name="shortened", containers=(ContainerRecipe(script=IGNORE_TERM),)))
    first = begin(terminator, pod, 600)
    assert begin(terminator, pod, 900).grace_ends_at == first.grace_ends_at
    shorter = begin(terminator, pod, 1)
    assert shorter.grace_ends_at < first.grace_ends_at
    state = await_end(terminator, pod)
    assert state.errors == ()
    assert state.attempts == 1
    assert each_node.client.container_status(pod.container_id).exit_code == 137
    assert_dead(each_node, pod)


def killing(node: DisposableNode, emptied: Callable[[str], object] = str) -> PodStopper:
    """A terminator that kills by itself, below this node's cgroup."""
    paths = partial(pod_cgroups, f"{node.cgroup}/kubepods")
    killer = VictimCgroups(lambda uid: [group("memory", path) for path in paths(uid)], RecordedErrors(), emptied)
    return PodStopper(node.client, clock=clock, minimum_grace_seconds=0, cgroups=killer)


def test_a_pod_is_killed_while_the_runtime_stands_still(each_node: DisposableNode, deaf: RunningPod) -> None:
    """One that ignores SIGTERM, by a grace period of a second: no answer of the runtime is needed for its memory."""
    os.kill(each_node.containerd.pid, signal.SIGSTOP)
    try:
        with killing(each_node) as terminator:
            begin(terminator, deaf, 1)
            assert wait_for(lambda: not pids_of(deaf.cgroup_parent)), pids_of(deaf.cgroup_parent)
            state = terminator.progress(deaf.uid)
            assert state is not None
            assert not state.finished
            os.kill(each_node.containerd.pid, signal.SIGCONT)
            await_end(terminator, deaf)
    finally:
        os.kill(each_node.containerd.pid, signal.SIGCONT)
    assert each_node.client.container_status(deaf.container_id).exit_code == 137
    assert_dead(each_node, deaf)


def test_a_volume_in_memory_is_emptied_while_the_runtime_stands_still(each_node: DisposableNode) -> None:
    """Its memory is the node's until then, also when every process is dead."""
    fill = ContainerRecipe(script="dd if=/dev/zero of=/shm/file bs=1M count=16 2>/dev/null; " + IGNORE_TERM)
    recipe = PodRecipe(name="shm", containers=(fill,), volumes=(VolumeRecipe(name="shm", medium="Memory"),))
    pod = each_node.run_pod(recipe)
    await_log(pod, "ready")
    os.kill(each_node.containerd.pid, signal.SIGSTOP)
    try:
        emptied = partial(remove_empty_dirs, each_node.kubelet_folder)
        with killing(each_node, emptied=emptied) as terminator:
            begin(terminator, pod, 0)
            assert wait_for(lambda: not list(pod.volumes["shm"].iterdir())), pids_of(pod.cgroup_parent)
            os.kill(each_node.containerd.pid, signal.SIGCONT)
            await_end(terminator, pod)
    finally:
        os.kill(each_node.containerd.pid, signal.SIGCONT)
    assert pod.volumes["shm"].is_mount()


def test_without_grace_a_pod_is_killed_at_once_and_cleaned_up_by_the_runtime(
    each_node: DisposableNode, deaf: RunningPod
) -> None:
    with killing(each_node) as terminator:
        begin(terminator, deaf, 600)
        begin(terminator, deaf, 0)
        state = await_end(terminator, deaf)
    assert 0 < (terminator.stop_times.longest() or 0) <= (state.finished_at or 0) - state.grace_ends_at
    assert each_node.client.container_status(deaf.container_id).exit_code == 137
    assert_dead(each_node, deaf)


def freezer(folder: Path) -> Path:
    """The cgroup of the freezer's hierarchy for one of the hierarchy of PIDs."""
    return group("freezer", "/") / folder.relative_to(group("pids", "/"))


def freezing(
    node: DisposableNode, freezer_of: Callable[[Path], Path] = freezer, now: Callable[[], int] = clock
) -> PodStopper:
    """A terminator that freezes and kills below this node's cgroup."""
    paths = partial(pod_cgroups, f"{node.cgroup}/kubepods")
    killer = VictimCgroups(
        lambda uid: [group("pids", path) for path in paths(uid)],
        RecordedErrors(),
        freezer_of=freezer_of,
    )
    return PodStopper(node.client, clock=now, minimum_grace_seconds=0, cgroups=killer)


def freezer_state(pod: RunningPod) -> str:
    return (group("freezer", pod.cgroup_parent) / pod.container_id / "freezer.state").read_text().strip()


def freeze(terminator: PodStopper, pod: RunningPod, grace_seconds: int) -> None:
    terminator.begin(
        pod.uid,
        containers=pod.containers.values(),
        sandboxes=[pod.sandbox_id],
        grace_seconds=grace_seconds,
        freeze=True,
    )


@needs_v1
def test_a_frozen_pod_can_handle_sigterm_before_the_end_of_its_grace(each_node: DisposableNode) -> None:
    script = "trap 'echo bye; exit 0' TERM; echo ready; while true; do sleep 0.05; done"
    pod = each_node.run_pod(PodRecipe(name="graceful", containers=(ContainerRecipe(script=script),)))
    await_log(pod, "ready")
    times = [0]
    with freezing(each_node, now=lambda: times[-1]) as terminator:
        freeze(terminator, pod, 300)
        assert wait_for(lambda: freezer_state(pod) == "FROZEN")
        assert "bye" not in pod.log()
        times.append(
            300 * SECOND - THAWED_TIME
        )  # the clock stands still here, so the pod has all the time that it needs
        terminator.begin("another", containers=(), sandboxes=(), grace_seconds=300, freeze=True)  # wakes the thread
        await_end(terminator, pod)
    assert "bye" in pod.log()
    assert_dead(each_node, pod)


@needs_v1
def test_a_frozen_pod_that_ignores_sigterm_is_killed_at_the_end_of_its_grace(
    each_node: DisposableNode, deaf: RunningPod
) -> None:
    with freezing(each_node) as terminator:
        freeze(terminator, deaf, 1)
        await_end(terminator, deaf)
    assert each_node.client.container_status(deaf.container_id).exit_code in {2, 137}, (
        "or its shell could not fork any more"
    )
    assert_dead(each_node, deaf)


def test_a_pod_that_cannot_be_frozen_is_stopped_all_the_same(each_node: DisposableNode) -> None:
    """Also when the freezer raises an exception that it never should."""
    pod = each_node.run_pod(PodRecipe(name="graceful", containers=(ContainerRecipe(script=WAIT_FOR_TERM),)))
    await_log(pod, "ready")
    failures = iter([KeyError("lost")])

    def freezer_of(folder: Path) -> Path:
        for failure in failures:
            raise failure
        return folder

    with freezing(each_node, freezer_of) as terminator:
        with pytest.raises(KeyError):
            freeze(terminator, pod, 300)
        await_end(terminator, pod)
    assert_dead(each_node, pod)


@needs_v1
def test_a_daemon_that_ends_leaves_no_pod_frozen(each_node: DisposableNode, deaf: RunningPod) -> None:
    with freezing(each_node) as terminator:
        freeze(terminator, deaf, 300)
        assert wait_for(lambda: freezer_state(deaf) == "FROZEN")
    assert wait_for(lambda: freezer_state(deaf) == "THAWED")


def test_beginning_again_after_the_end_is_harmless(each_node: DisposableNode, terminator: PodStopper) -> None:
    pod = each_node.run_pod(PodRecipe(name="again"))
    begin(terminator, pod, 5)
    await_end(terminator, pod)
    terminator.forget(pod.uid)
    assert terminator.progress(pod.uid) is None
    # As a daemon does that was restarted in between and knows only its state file.
    begin(terminator, pod, 5)
    assert await_end(terminator, pod).errors == ()
    # And a pod that was started again under its old uid is stopped again.
    again = each_node.run_pod(PodRecipe(name="again-2", uid=pod.uid))
    begin(terminator, again, 5)
    assert await_end(terminator, again).errors == ()
    assert states(each_node, again) == {ContainerState.EXITED}


def test_what_is_not_there_any_more_counts_as_stopped(each_node: DisposableNode, terminator: PodStopper) -> None:
    pod = each_node.run_pod(PodRecipe(name="removed"))
    each_node.remove_pod(pod)
    begin(terminator, pod, 5)
    state = await_end(terminator, pod)
    assert set(state.stopped) == {pod.container_id, pod.sandbox_id}
    assert state.errors == ()


def test_a_pod_whose_pause_process_was_killed_is_stopped_whole(
    each_node: DisposableNode, terminator: PodStopper
) -> None:
    pod = each_node.run_pod(PodRecipe(name="pauseless"))
    procs = group("pids", pod.cgroup_parent) / pod.sandbox_id / "cgroup.procs"
    os.kill(int(procs.read_text().split()[0]), signal.SIGKILL)
    assert wait_for(lambda: each_node.client.sandbox_status(pod.sandbox_id).state is SandboxState.NOT_READY)
    assert states(each_node, pod) == {ContainerState.RUNNING}
    begin(terminator, pod, 5)
    await_end(terminator, pod)
    assert_dead(each_node, pod)


def test_a_container_that_was_not_named_is_found_and_stopped(each_node: DisposableNode, terminator: PodStopper) -> None:
    pod = each_node.run_pod(PodRecipe(name="unnamed"))
    terminator.begin(pod.uid, containers=[], sandboxes=[], grace_seconds=5)
    await_end(terminator, pod)
    assert_dead(each_node, pod)


def test_a_container_started_meanwhile_is_stopped_too(each_node: DisposableNode, terminator: PodStopper) -> None:
    """As with a kubelet that restarts what it finds dead: in the same sandbox, or in a new one of the same pod."""
    pod = each_node.run_pod(
        PodRecipe(
            name="restarted",
            containers=(ContainerRecipe(name="slow", script=IGNORE_TERM), ContainerRecipe(name="main")),
        )
    )
    begin(terminator, pod, 600)  # however long it takes to start the others
    main = pod.containers["main"]
    assert wait_for(lambda: each_node.client.container_status(main).state is ContainerState.EXITED)
    again = each_node.run_container(pod, ContainerRecipe(name="main", script=IGNORE_TERM), attempt=1)
    other = each_node.run_pod(
        PodRecipe(name="restarted-2", uid=pod.uid, manifest=False, containers=(ContainerRecipe(script=IGNORE_TERM),))
    )
    begin(terminator, pod, 1)
    await_end(terminator, pod)
    assert not any(item.state.may_run for item in each_node.client.list_containers())
    assert {again, other.container_id} <= {item.id for item in each_node.client.list_containers()}
    assert {item.state for item in each_node.client.list_sandboxes()} == {SandboxState.NOT_READY}


def test_the_kubelets_minimum_of_two_seconds(each_node: DisposableNode) -> None:
    pod = each_node.run_pod(PodRecipe(name="minimum", containers=(ContainerRecipe(script=IGNORE_TERM),)))
    with PodStopper(each_node.client, clock=clock, minimum_grace_seconds=2) as kubelet_like:
        begin(kubelet_like, pod, 1)
        state = await_end(kubelet_like, pod)
    assert state.finished_at is not None
    assert state.finished_at - state.started_at >= 2 * SECOND


def test_the_loop_is_woken_when_a_pod_is_finished(each_node: DisposableNode) -> None:
    pod = each_node.run_pod(PodRecipe(name="waker"))
    woken = threading.Event()
    with PodStopper(each_node.client, clock=clock, wake=woken.set) as made:
        begin(made, pod, 5)
        assert woken.wait(60)
        state = made.progress(pod.uid)
    assert state is not None
    assert state.finished


def test_a_runtime_that_restarts_in_between_shortens_no_grace_period(make_node: NodeFactory) -> None:
    node = make_node(private=False)
    script = "trap 'echo asked' TERM; echo ready; while [ ! -e /data/go ]; do sleep 0.1; done; echo done"
    recipe = PodRecipe(
        name="survivor", containers=(ContainerRecipe(script=script),), volumes=(VolumeRecipe(name="data"),)
    )
    pod = node.run_pod(recipe)
    with PodStopper(node.client, clock=clock) as made:
        begin(made, pod, 120)
        await_log(pod, "asked")
        node.containerd.stop()
        node.containerd.start()
        (pod.volumes["data"] / "go").touch()
        state = await_end(made, pod)
    assert any("UNAVAILABLE" in error for error in state.errors)
    assert state.finished_at is not None
    assert state.finished_at < state.grace_ends_at
    assert node.client.container_status(pod.container_id).exit_code == 0
    assert_dead(node, pod)


def test_a_disk_without_a_byte_left(each_node: DisposableNode, terminator: PodStopper) -> None:
    """Kill it, say so, and finish when the runtime can write again.

    containerd cannot note that the container ended, so StopContainer is never answered, and the container is listed as running
    although no process is left.
    """
    each_node.import_images([ImageRecipe(reference="localhost/ballast:1", padding_bytes=1 << 20)])
    fill = (
        "dd if=/dev/zero of=/fill bs=64k; dd if=/dev/zero of=/rest bs=512; dd if=/dev/zero of=/rest2 bs=512; echo full"
    )
    pod = each_node.run_pod(PodRecipe(name="filler", containers=(ContainerRecipe(script=f"{fill}; {WAIT_FOR_TERM}"),)))
    await_log(pod, "full")
    begin(terminator, pod, 1)
    assert wait_for(lambda: not pids_of(pod.cgroup_parent))
    each_node.client.remove_image("localhost/ballast:1")
    state = await_end(terminator, pod, seconds=120)
    assert set(state.stopped) == {pod.container_id, pod.sandbox_id}
    assert_dead(each_node, pod)

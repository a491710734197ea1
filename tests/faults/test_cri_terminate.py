"""Terminations on a faulty runtime: never finished while a container runs, and never a busy loop."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import grpc
import pytest
from cri_api.v1 import api_pb2 as pb

from evictd.act.stop.stopper import PodStopper
from evictd.act.stop.termination import Termination
from evictd.clients.cri.channel import LONGEST_TIMEOUT_SECONDS
from evictd.clients.cri.client import CriClient
from evictd.codec.pods.pod import LONGEST_GRACE_PERIOD_SECONDS
from evictd_testnode.tool import wait_for
from tests.faults.cri_server import Answer, failing, fake_runtime


@dataclass(slots=True)
class Model:
    """The state of a runtime: its listings and its responses to stops."""

    running: set[str] = field(default_factory=set)
    ready: set[str] = field(default_factory=lambda: {"s1"})
    stops: list[tuple[str, int]] = field(default_factory=list)
    fail_stops: int = 0
    fail_lists: int = 0
    on_stop: Callable[[str], None] = lambda _: None
    deny: set[str] = field(default_factory=set)

    def answers(self) -> dict[str, Answer]:
        return {
            "StopContainer": self.stop_container,
            "StopPodSandbox": self.stop_sandbox,
            "ListContainers": self.list_containers,
            "ListPodSandbox": self.list_sandboxes,
        }

    def stop_container(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        message = pb.StopContainerRequest.FromString(request)
        self.stops.append((message.container_id, message.timeout))
        if self.fail_stops > 0:
            self.fail_stops -= 1
            return failing(grpc.StatusCode.UNKNOWN, "device or resource busy")(request, context)
        if message.container_id in self.deny:
            return failing(grpc.StatusCode.NOT_FOUND, "not found")(request, context)
        self.running.discard(message.container_id)
        self.on_stop(message.container_id)
        return b""

    def stop_sandbox(self, request: bytes, _: grpc.ServicerContext) -> bytes:
        self.ready.discard(pb.StopPodSandboxRequest.FromString(request).pod_sandbox_id)
        return b""

    def list_containers(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        if self.fail_lists > 0:
            self.fail_lists -= 1
            return failing(grpc.StatusCode.UNKNOWN, "meta.db is locked")(request, context)
        rows = [
            pb.Container(
                id=each,
                pod_sandbox_id="s1",
                metadata=pb.ContainerMetadata(name=each),
                image=pb.ImageSpec(image="i"),
                state=pb.CONTAINER_RUNNING,
            )
            for each in sorted(self.running)
        ]
        return pb.ListContainersResponse(containers=rows).SerializeToString()

    def list_sandboxes(self, _: bytes, __: grpc.ServicerContext) -> bytes:
        metadata = pb.PodSandboxMetadata(name="web", namespace="default", uid="u1")
        ids = sorted({"s1", *self.ready})
        states = {each: pb.SANDBOX_READY if each in self.ready else pb.SANDBOX_NOTREADY for each in ids}
        rows = [pb.PodSandbox(id=each, metadata=metadata, state=states[each]) for each in ids]
        return pb.ListPodSandboxResponse(items=rows).SerializeToString()


def clock() -> int:
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def terminate(tmp_path: Path, model: Model, containers: list[str], *, grace_seconds: int = 1) -> Termination:
    with (
        fake_runtime(tmp_path / "s", model.answers()) as endpoint,
        CriClient(endpoint) as client,
        PodStopper(client, clock=clock) as terminator,
    ):
        terminator.begin("u1", containers=containers, sandboxes=["s1"], grace_seconds=grace_seconds)
        assert wait_for(lambda: not terminator.in_flight(), seconds=60), terminator.progress("u1")
        state = terminator.progress("u1")
    assert state is not None
    return state


def test_a_refused_stop_is_retried_with_a_growing_delay(tmp_path: Path) -> None:
    model = Model(running={"c1"}, fail_stops=3)
    state = terminate(tmp_path, model, ["c1"], grace_seconds=600)
    assert state.attempts == 4
    assert len(state.errors) == 3
    assert state.errors[0] == "StopContainer c1: UNKNOWN: device or resource busy"
    assert state.finished_at is not None
    assert state.finished_at - state.started_at >= (200 + 400 + 800) * 10**6
    assert all(540 <= timeout <= 600 for _, timeout in model.stops)  # what is left of the grace, each time


@pytest.mark.slow
def test_the_sandbox_is_stopped_after_the_grace_period_while_container_stops_fail(tmp_path: Path) -> None:
    model = Model(running={"c1"}, fail_stops=1000)
    model_ready_at_stop: list[bool] = []
    model.on_stop = lambda _: model_ready_at_stop.append("s1" in model.ready)

    def give_in(request: bytes, context: grpc.ServicerContext) -> bytes:
        model.running.clear()  # as containerd kills what is left in a sandbox
        return Model.stop_sandbox(model, request, context)

    answers = {**model.answers(), "StopPodSandbox": give_in}
    with (
        fake_runtime(tmp_path / "s", answers) as endpoint,
        CriClient(endpoint) as client,
        PodStopper(client, clock=clock) as terminator,
    ):
        begun = terminator.begin("u1", containers=["c1"], sandboxes=["s1"], grace_seconds=2)
        assert wait_for(lambda: not terminator.in_flight(), seconds=60)
        state = terminator.progress("u1")
    assert state is not None
    assert state.finished_at is not None
    assert state.finished_at >= begun.grace_ends_at


def test_a_listing_that_fails_finishes_nothing(tmp_path: Path) -> None:
    model = Model(running={"c1"}, fail_lists=2)
    state = terminate(tmp_path, model, ["c1"])
    assert state.errors == ("ListContainers: UNKNOWN: meta.db is locked",) * 2
    assert model.stops == [("c1", 1)]


@pytest.mark.slow
def test_ids_that_change_during_a_termination(tmp_path: Path) -> None:
    """Each stopped container reappears once with another id."""
    model = Model(running={"c1"})
    model.on_stop = lambda each: None if len(each) > 5 else model.running.add(f"{each}x")
    state = terminate(tmp_path, model, ["c1"])
    assert [each for each, _ in model.stops] == ["c1", "c1x", "c1xx", "c1xxx", "c1xxxx"]
    assert model.running == set()
    assert set(state.stopped) == {"c1", "c1x", "c1xx", "c1xxx", "c1xxxx", "s1"}


def test_a_container_that_is_listed_but_not_found_is_not_waited_for(tmp_path: Path) -> None:
    model = Model(running={"ghost"}, deny={"ghost"})
    state = terminate(tmp_path, model, ["ghost"])
    assert state.attempts == 1
    assert "ghost" in state.stopped
    (error,) = state.errors
    assert error.startswith("ghost: listed as running, but the runtime says that it has no such thing")


def test_a_termination_waits_for_an_unavailable_runtime(tmp_path: Path) -> None:
    model = Model(running={"c1"})
    path = tmp_path / "s"
    with CriClient(f"unix://{path}") as client, PodStopper(client, clock=clock) as terminator:
        terminator.begin("u1", containers=["c1"], sandboxes=["s1"], grace_seconds=1)

        def errors() -> int:
            state = terminator.progress("u1")
            return len(state.errors) if state else 0

        assert wait_for(lambda: errors() >= 2)
        state = terminator.progress("u1")
        assert state is not None
        assert not state.finished
        assert set(state.remaining) == {"c1", "s1"}
        with fake_runtime(path, model.answers()):
            assert wait_for(lambda: not terminator.in_flight(), seconds=60)
    assert model.running == set()


def test_other_terminations_continue_while_one_hangs(tmp_path: Path) -> None:
    model = Model(running={"c1"}, fail_stops=1)
    with (
        fake_runtime(tmp_path / "s", model.answers()) as endpoint,
        CriClient(endpoint) as client,
        PodStopper(client, clock=clock) as terminator,
    ):
        terminator.begin("u1", containers=["c1"], sandboxes=["s1"], grace_seconds=600)
        terminator.begin("u2", containers=[], sandboxes=[], grace_seconds=1)
        assert wait_for(lambda: {each.uid for each in terminator.in_flight()} <= {"u1"}, seconds=60)
        assert wait_for(lambda: not terminator.in_flight(), seconds=60)


def test_errors_are_short(tmp_path: Path) -> None:
    model = Model(running=set(), fail_stops=0)
    containers = [f"c{number}" for number in range(40)]
    model.fail_stops = 40
    state = terminate(tmp_path, model, containers, grace_seconds=30)
    assert len(state.errors) == 20


def test_a_pod_with_the_longest_grace_period_is_asked_to_stop_and_can_be_shortened(tmp_path: Path) -> None:
    """The thread that stops pods waits until its end, and the runtime is given a deadline that gRPC can express."""
    model, remaining = Model(running={"c1"}), list[float]()

    def stuck(request: bytes, context: grpc.ServicerContext) -> bytes:
        remaining.append(context.time_remaining())
        if len(remaining) == 1:
            context.add_callback(release.set)
            release.wait(60)
            return b""
        return model.stop_container(request, context)

    release = threading.Event()
    with (
        fake_runtime(tmp_path / "s", {**model.answers(), "StopContainer": stuck}) as endpoint,
        CriClient(endpoint) as client,
        PodStopper(client, clock=clock) as terminator,
    ):
        grace = LONGEST_GRACE_PERIOD_SECONDS
        terminator.begin("u1", containers=["c1"], sandboxes=["s1"], grace_seconds=grace)
        assert wait_for(lambda: bool(remaining), seconds=60), terminator.progress("u1")
        terminator.begin("u1", containers=["c1"], sandboxes=["s1"], grace_seconds=1)
        assert wait_for(lambda: not terminator.in_flight(), seconds=60), terminator.progress("u1")
    assert remaining[0] <= LONGEST_TIMEOUT_SECONDS

"""One look at a node: what is asked of whom, and what stays absent."""

from dataclasses import replace
from typing import Any

import pytest

from evictd.codec.manifest import Manifest, decode_manifest
from evictd.core.container_gc import PodFate
from evictd.core.observation import Observation, Outcomes
from evictd.core.state import State
from evictd.daemon.look import RUNTIME, Look, NodeEyes
from evictd.errors import RuntimeUnavailableError
from evictd.observe.manifests import Manifests
from evictd.observe.runtime_view import RuntimeView
from tests.daemon.world import CONFIG, GI, NOW, WALL, observe
from tests.observe.runtime import sandbox

VIEW = RuntimeView(time=NOW, sandboxes=(), containers=(), stats={})
LOOK = Look(now=NOW, wall=WALL, state=State(), config=CONFIG, outcomes=Outcomes())


class Source:
    """Observer, runtime and manifests in one."""

    def __init__(self) -> None:
        self.asked: list[bool] = []
        self.seen: list[dict[str, Any]] = []
        self.down = False
        self.manifests: tuple[Manifest, ...] = ()
        self.described: Any = None

    def read(self, now: int = 0, *, with_stats: bool = True, described: Any = None, step: Any = None) -> Any:
        if now == 0:
            return Manifests(found=self.manifests)
        self.described = described
        step()
        self.asked.append(with_stats)
        if self.down:
            raise RuntimeUnavailableError("nobody answers")
        return replace(VIEW, stats={} if with_stats else None)

    def observe(self, pods: Any, view: Any, **how: Any) -> Observation:
        self.seen.append({"pods": pods, "view": view, **how})
        return observe(4 * GI)


@pytest.fixture
def source() -> Source:
    return Source()


def eyes(source: Any) -> NodeEyes:
    return NodeEyes(observer=source, runtime=source, manifests=source, evicted=set)


def test_a_look_gives_the_observation_and_what_the_hands_need(source: Source) -> None:
    sight = eyes(source).look(LOOK)
    assert (sight.now, sight.wall, sight.held) == (NOW, WALL, False)
    assert sight.view is not None
    assert sight.fates is not None
    assert sight.fates.all_sources_ready


def test_a_runtime_that_does_not_answer_is_a_problem_and_nobody_is_known(source: Source) -> None:
    source.down = True
    sight = eyes(source).look(LOOK)
    assert sight.view is None
    assert sight.fates is None
    assert [problem.source for problem in sight.observation.problems] == [RUNTIME]
    assert source.seen[0]["pods"] == ()
    assert source.seen[0]["has_runtime"]


def test_the_runtime_need_not_be_asked_about_whom_a_manifest_describes(source: Source) -> None:
    source.manifests = (decode_manifest({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "uid": "u"}}),)
    sight = eyes(source).look(LOOK)
    assert [source.described(sandbox(uid)) for uid in ("u", "other")] == [True, False]
    assert sight.fates is not None
    assert sight.fates.of("u") is PodFate.ACTIVE


def test_an_urgent_look_does_not_wait_for_statistics_that_only_disks_need(source: Source) -> None:
    looker = eyes(source)
    looker.look(LOOK)
    looker.look(replace(LOOK, urgent=True))
    assert source.asked == [True, False]
    assert source.seen[1]["view"].stats == {}


def test_between_two_steps_the_loop_is_told(source: Source) -> None:
    steps: list[str] = []
    eyes(source).look(replace(LOOK, step=lambda: steps.append("step")))
    assert steps == ["step"]


def test_the_first_look_is_never_urgent(source: Source) -> None:
    eyes(source).look(replace(LOOK, urgent=True))
    assert source.asked == [True]

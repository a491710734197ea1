"""A runtime that lists nothing although its pods run: none of them is chosen, because none could be stopped."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.faults.cri_server import fake_runtime
from tests.faults.harness import Run, joined
from tests.faults.node_double import FakeNode, FakePod

pytestmark = pytest.mark.slow
CYCLES = 20


def test_no_pod_counts_as_evicted_while_the_runtime_lists_none(tmp_path: Path) -> None:
    """`make soak` found it: measured by its cgroup, the leaker was chosen, and nothing of it to stop meant that it had stopped.

    Its status said so, it ran on out of sight, and innocent pods went for it.
    """
    node = FakeNode(tmp_path)
    # Below `burstable`, where a pod of the API server is looked for.
    for pod in (
        FakePod("leaker", 5_000_000_000, request=2_000_000_000),
        FakePod("db", 1_000_000_000, request=2_000_000_000),
    ):
        node.add(pod)
    with ExitStack() as stack:
        endpoint = stack.enter_context(fake_runtime(tmp_path / "s", node.answers()))
        api = joined(node, tmp_path, stack)
        run = stack.enter_context(Run(node, endpoint, api))
        run.cycle_until(lambda: api.requests("watch pods") and api.requests("patch nodes/status"))
        node.faults["ListPodSandbox"] = node.faults["ListContainers"] = lambda *_: b""
        node.press()
        for _ in range(CYCLES):
            run.cycle()
        assert run.loop.state.in_flight == ()
        assert node.stopped == []
        node.faults.clear()
        run.cycle_until(lambda: run.recovered(may_spare=False))
    assert node.stopped == ["hog"]

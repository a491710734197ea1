"""evictd does not run for an hour while a victim has not been asked to stop: that pod is stopped, and no other."""

from contextlib import ExitStack
from pathlib import Path

import grpc
import pytest

from tests.faults.cri_server import failing, fake_runtime
from tests.faults.harness import PATIENCE_SECONDS, Run
from tests.faults.node_double import FakeNode
from tests.faults.table import HOUR, shifted
from tests.kube.waiting import eventually

pytestmark = pytest.mark.slow
AFTERWARDS = 20
"""Cycles after the victim is gone, in which no other pod may go."""


@pytest.mark.parametrize("restarts", [True, False], ids=["restarted", "halted"])
def test_no_second_pod_goes_for_one_that_was_not_asked(tmp_path: Path, restarts: bool) -> None:
    """A row of the table failed now and then: where the stop call lost the race against the end of the daemon."""
    node = FakeNode(tmp_path)
    with fake_runtime(tmp_path / "s", node.answers()) as endpoint, Run(node, endpoint) as run, ExitStack() as stack:
        run.cycle()
        node.faults["StopContainer"] = node.faults["StopPodSandbox"] = failing(grpc.StatusCode.UNAVAILABLE, "gone")
        node.press()
        run.cycle_until(lambda: run.loop.state.in_flight)
        assert [victim.uid for victim in run.loop.state.in_flight] == ["uid-hog"]
        if restarts:
            eventually(lambda: b"uid-hog" in (run.state / "state.json").read_bytes(), PATIENCE_SECONDS)
            run.crash()
        stack.enter_context(shifted(boot=HOUR)(run))
        if restarts:
            run.start()
        run.cycle()
        node.faults.clear()
        run.cycle_until(lambda: run.recovered(may_spare=False))
        for _ in range(AFTERWARDS):
            run.cycle()
    assert node.stopped == ["hog"]

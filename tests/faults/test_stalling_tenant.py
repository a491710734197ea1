"""A tenant makes all pods stall for memory: none of its neighbours is evicted for that."""

from pathlib import Path

import pytest

from tests.faults.cri_server import fake_runtime
from tests.faults.harness import Run
from tests.faults.node_double import FakeNode
from tests.faults.table import STALLS, TENANT, stalling

pytestmark = pytest.mark.slow
CYCLES = 20


def test_no_neighbour_goes_for_the_stall_of_a_tenant_at_its_own_limit(tmp_path: Path) -> None:
    node = FakeNode(tmp_path)
    with (
        fake_runtime(tmp_path / "s", node.answers()) as endpoint,
        Run(node, endpoint, kubelet=STALLS) as run,
        stalling(run),
    ):
        run.cycle_until(lambda: run.loop.state.thresholds_met)
        for _ in range(CYCLES):
            run.cycle()
        assert node.stopped == []
        # The threshold is due all the same: the tenant goes as soon as it uses more than it requests.
        node.write("cgroup/kubepods/burstable/poduid-tenant/memory.current", f"{TENANT * 2}\n")
        run.cycle_until(lambda: node.stopped)
        assert node.stopped == ["tenant"]

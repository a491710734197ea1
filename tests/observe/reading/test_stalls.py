"""How long tasks stalled, by the signals that have a threshold."""

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from evictd.core.model.observation import signal_observations
from evictd.core.model.signal import STALLS, Signal, StallScope
from evictd.core.units.quantity import of_count
from tests.observe.reading.test_node_stats import POD, observer
from tests.observe.runtime_double import container, view
from tests.trees import PROC, plant, v1_node, v2_node

Clock = Callable[[], int]


@pytest.fixture
def clock() -> Clock:
    return count(1).__next__


def pressure(full: str, some: str = "9.00") -> str:
    """A PSI file."""
    lines = (f"{name} avg10={avg} avg60=1.00 avg300=0.00 total=7\n" for name, avg in (("some", some), ("full", full)))
    return "".join(lines)


def test_stalls_are_read_for_the_signals_that_have_a_threshold(tmp_path: Path, clock: Clock) -> None:
    """And the pods' own only while there are any; without PSI, as on cgroup v1, the signals are absent."""
    base = plant(tmp_path / "cgroup", v2_node(systemd=True))
    pods = base / "kubepods.slice"
    own = pods / "kubepods-burstable.slice/kubepods-burstable-poda_b.slice/memory.pressure"
    wanted = {Signal.PODS_MEMORY_FULL_10, Signal.NODE_IO_SOME_60}
    with observer(tmp_path, clock, tree={}, proc={**PROC, "pressure": {"io": pressure("3.00")}}) as node:
        (pods / "memory.pressure").write_text(pressure("31.20"))
        own.write_text(pressure("40.00"))
        stalling = node.observe([POD], view(container("c1", "main")), stalls=wanted)
        (pods / "memory.pressure").write_text(pressure("0.00"))
        calm = node.observe([POD], view(container("c1", "main")), stalls=wanted)
        unasked = node.observe([POD], view(container("c1", "main")))
    assert stalling.node is not None
    signals = signal_observations(stalling.node)
    assert signals[Signal.PODS_MEMORY_FULL_10].available == of_count(10_000 - 3120)
    assert signals[Signal.NODE_IO_SOME_60].available == of_count(10_000 - 100)
    assert Signal.NODE_MEMORY_FULL_10 not in signals
    assert Signal.PODS_IO_FULL_10 not in signals
    [measured] = stalling.pod_stats.values()
    assert measured.memory is not None
    assert measured.memory.psi is not None
    assert measured.memory.psi.full is not None
    assert measured.memory.psi.full.avg10 == 40.0
    [measured] = calm.pod_stats.values()
    assert measured.memory is not None
    assert measured.memory.psi is None
    assert unasked.node is not None
    assert not STALLS.keys() & signal_observations(unasked.node).keys()


def test_cgroup_v1_has_no_stalls_of_the_pods(tmp_path: Path, clock: Clock) -> None:
    with observer(tmp_path, clock, tree=v1_node()) as node:
        found = node.observe([POD], view(container("c1", "main")), stalls=set(STALLS))
    assert found.node is not None
    seen = signal_observations(found.node)
    assert not any(STALLS[signal].scope is StallScope.PODS for signal in seen if signal in STALLS)

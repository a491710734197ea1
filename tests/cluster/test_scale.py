"""Twenty nodes without a kubelet on the real server: the small variant of `make bench SUITE=scale`, counted instead of timed."""

import signal
from collections.abc import Iterator

import pytest

from tests.cluster import processes
from tests.cluster.binaries import Missing, find
from tests.cluster.control_plane import PROGRAMS, ControlPlane
from tests.cluster.fleet import Fleet, Traffic, nodes

pytestmark = pytest.mark.cluster

NODES = 20
MOST_FOR_AN_EVICTION = 12
"""Requests of a node for its condition, one pod's status, their check, and the events."""
MOST_AFTER_A_RESTART = 8
"""Requests of a node whose server was away: some tries of the watch, one list, one look at the node."""


@pytest.fixture
def plane() -> Iterator[ControlPlane]:
    """A server of its own, which is killed."""
    programs = find(*PROGRAMS)
    if isinstance(programs, Missing):
        pytest.skip(str(programs))
    with processes.folder() as folder, ControlPlane(folder, programs) as made:
        yield made


def test_a_wave_of_evictions_and_a_restart_of_the_server_are_no_storm(plane: ControlPlane) -> None:
    with nodes(plane, NODES, pods=2) as names:
        fleet, traffic = Fleet(plane, names), Traffic(plane)
        try:
            fleet.start()
            traffic.since()
            fleet.press()
            fleet.relieve()
            pressed = traffic.since()
            plane.apiserver.stop(signal.SIGKILL)
            plane.apiserver.start()
            plane.wait_until_ready()
            fleet.wait_until_calm()
            returned = traffic.since()
        finally:
            fleet.close()
    assert pressed.kinds["patch pods/status"] >= NODES
    assert pressed.total <= NODES * MOST_FOR_AN_EVICTION, pressed
    assert returned.total <= NODES * MOST_AFTER_A_RESTART, returned
    assert pressed.refused == returned.refused == 0

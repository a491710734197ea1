"""Who takes memory is followed also where memory has no threshold."""

from dataclasses import replace

from evictd.core.model.holdings import SupplyHoldings
from evictd.daemon.telemetry.memory_holdings import memory_attribution, memory_followed, proposed_threshold
from tests.render.shown_nodes import calm
from tests.render.snapshots import incident_snapshot


def test_the_pod_that_took_memory_is_known_without_a_threshold() -> None:
    """Only the largest pod was known, though it may have taken nothing (world 43)."""
    snapshot = incident_snapshot("43-no-memory-threshold", 80)
    held = memory_attribution(snapshot.trends.memory, snapshot.state, snapshot.observation, snapshot.config)
    assert held is not None
    assert (held.main_grower, held.grower_alone) == ("default/hog", True)


def test_a_reading_without_the_pods_changes_nothing() -> None:
    """What they took since the reading before would seem to belong to no pod."""
    snapshot, before = incident_snapshot("43-no-memory-threshold", 80), SupplyHoldings(at=1)
    for node in (snapshot.observation.node, None):
        unread = replace(snapshot.observation, node=node, pods_read=False)
        assert memory_followed(before, snapshot.state, unread, snapshot.config, now=snapshot.at) is before


def test_where_a_threshold_guards_memory_nothing_is_followed() -> None:
    node = calm()
    assert memory_followed(None, node.state, node.observation, node.config, now=node.at) is None
    assert memory_attribution(None, node.state, node.observation, node.config) is None
    assert proposed_threshold() is not None

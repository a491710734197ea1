"""What evictd removed last, of a node that is not short any more."""

from evictd.render.status.headline import headline
from evictd.render.status.last_reclaim import last_reclaim_text
from tests.daemon.status import status_of
from tests.render.shown_nodes import calm
from tests.render.snapshots import incident_snapshot


def test_a_node_that_was_relieved_without_an_eviction_says_what_was_removed() -> None:
    """The headline said only that no threshold is met, beside a condition that is still reported."""
    snapshot = incident_snapshot("28-control-dead-containers", 400)
    status = status_of(snapshot, snapshot.at)
    begun = "evictd began to delete unused containers and images for nodefs.available 1m50s ago"
    assert last_reclaim_text(status) == begun
    assert headline(status).text == (
        f"Calm again: {begun}; no threshold is met; DiskPressure is reported for at least 3m10s more."
    )


def test_nothing_is_said_after_an_hour_and_of_a_dry_run() -> None:
    assert last_reclaim_text(status_of(calm(), calm().at)) == ""
    snapshot = incident_snapshot("28-control-dead-containers", 400)
    status = status_of(snapshot, snapshot.at)
    rehearsed = [{**each, "dryRun": True} for each in status["decisions"]]
    assert last_reclaim_text({**status, "decisions": rehearsed}) == ""
    assert last_reclaim_text({**status, "ageSeconds": 3600}) == ""

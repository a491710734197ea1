"""What evictd removed last, of a node that is not short any more."""

from evictd.render.status.headline import headline
from evictd.render.status.last_reclaim import last_reclaim, last_reclaim_text
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


def test_a_node_is_not_calm_while_the_rate_since_the_reclaim_is_unknown() -> None:
    """It said `Calm again` while a pod filled the disk by 35Mi a second: the rate is not known just after what came back."""
    snapshot = incident_snapshot("28-control-dead-containers", 400)
    status = status_of(snapshot, snapshot.at)
    last = last_reclaim(status)
    assert last is not None
    assert last["signal"] == "nodefs.available"
    (disk,) = (each for each in status["signals"] if each["signal"] == "nodefs.available")
    disk.update(fillRate=None, fellBefore=None)
    text = headline(status).text
    assert text.startswith("evictd began to delete unused containers and images")
    assert "no threshold is met, but how fast nodefs.available falls now is not known yet" in text
    assert last_reclaim({**status, "decisions": []}) is None
    for each in status["decisions"]:
        each.pop("signal")
    assert headline(status).text.startswith("Calm again"), "of an older daemon"


def test_nothing_is_said_after_an_hour_and_of_a_dry_run() -> None:
    assert last_reclaim_text(status_of(calm(), calm().at)) == ""
    snapshot = incident_snapshot("28-control-dead-containers", 400)
    status = status_of(snapshot, snapshot.at)
    rehearsed = [{**each, "dryRun": True} for each in status["decisions"]]
    assert last_reclaim_text({**status, "decisions": rehearsed}) == ""
    assert last_reclaim_text({**status, "ageSeconds": 3600}) == ""

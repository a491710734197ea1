"""A pod near a limit of its own is on the page and in `evictd status`."""

from typing import Any

from evictd.render.status.headline import OwnFault, beside_faults, headline
from evictd.render.status.own_faults import OwnFaultKind
from evictd.render.status.own_limits_text import own_limits_text
from tests.daemon.status import status_of
from tests.daemon.telemetry.test_own_limits import fills_its_volume
from tests.render.shown_nodes import page, pressed
from tests.render.snapshots import snapshot_at
from tests.render.status.test_view import shown


def near(**more: Any) -> dict[str, Any]:
    """A document with one such pod."""
    row = {"pod": "x/db", "of": "container app", "usage": 950 << 20, "limit": 1 << 30}
    return {"dryRun": False, "ownLimits": [row], **more}


def test_a_node_with_a_pod_near_its_limit_is_not_called_calm() -> None:
    """`This node is calm`, eight seconds before a pod of priority 1000 was evicted for its sizeLimit."""
    snapshot = snapshot_at(fills_its_volume(), 252)
    status = status_of(snapshot, snapshot.at)
    text = own_limits_text(status)
    assert text.startswith("default/db holds 1.9")
    assert text.endswith("Gi of its limit of 2Gi (emptyDir wal): a pod that exceeds its own limit is evicted")
    found = headline(status)
    assert (found.level, found.text) == ("soft", f"No threshold is met and no pod is being evicted. {text}.")
    assert text in page(snapshot)
    assert text in " ".join(shown(status, 200).split())


def test_it_is_said_beside_a_shortage() -> None:
    snapshot = pressed()
    status = status_of(snapshot, snapshot.at)
    alone = headline(status)
    found = headline({**status, "ownLimits": near()["ownLimits"]})
    assert found.level == alone.level
    assert found.text.startswith(f"{alone.text} x/db holds 950Mi of its limit of 1Gi (container app)")


def test_a_fault_does_not_hide_it() -> None:
    snapshot = snapshot_at(fills_its_volume(), 252)
    status = status_of(snapshot, snapshot.at)
    said = beside_faults(status, [OwnFault(OwnFaultKind.LISTED_PODS, "")])
    assert f"{own_limits_text(status)}." in said


def test_of_several_pods_the_first_are_named() -> None:
    rows = near()["ownLimits"] * 5
    assert own_limits_text(near(ownLimits=rows)).count("x/db") == 3
    assert "; 2 more are near theirs: a pod" in own_limits_text(near(ownLimits=rows))
    assert own_limits_text(near(dryRun=True)).endswith("would be evicted")
    assert own_limits_text({}) == "", "an older daemon"

"""A pod near a limit of its own is on the page and in `evictd status`."""

from typing import Any

from evictd.render.status.headline import OwnFault, beside_faults, headline
from evictd.render.status.own_faults import OwnFaultKind
from evictd.render.status.remedy.own_limits_text import own_limits_text
from evictd.render.status.remedy.remedies import remedies
from tests.daemon.status import status_of
from tests.daemon.telemetry.test_own_limits import fills_its_volume
from tests.render.shown_nodes import approaching, page, pressed
from tests.render.snapshots import snapshot_at
from tests.render.status.test_view import shown


def near(**more: Any) -> dict[str, Any]:
    """A document with one such pod."""
    row = {"pod": "x/db", "of": "container app", "usage": 950 << 20, "limit": 1 << 30, "secondsToLimit": None}
    return {"dryRun": False, "ownLimits": [row], **more}


def test_a_node_with_a_pod_near_its_limit_is_not_called_calm() -> None:
    """`This node is calm`, eight seconds before a pod of priority 1000 was evicted for its sizeLimit."""
    snapshot = snapshot_at(fills_its_volume(), 252)
    status = status_of(snapshot, snapshot.at)
    text = own_limits_text(status)
    assert text == (
        "default/db holds 1.95Gi of its limit of 2Gi (emptyDir wal) and reaches it in about 6.0s at the present rate: "
        "a pod that exceeds its own limit is evicted"
    )
    advice = "delete files in emptyDir wal of default/db, or raise the sizeLimit, which only a new pod then has"
    assert remedies(status) == [advice]
    assert advice[1:] in page(snapshot)
    found = headline(status)
    assert (found.level, found.text) == ("soft", f"{text}. No threshold is met and no pod is being evicted.")
    assert text.partition(" in about")[0] in page(snapshot)
    assert text in " ".join(shown(status, 200).split())


def test_it_is_said_beside_a_shortage() -> None:
    snapshot = pressed()
    status = status_of(snapshot, snapshot.at)
    alone = headline(status)
    found = headline({**status, "ownLimits": near()["ownLimits"]})
    assert found.level == alone.level
    assert found.text.startswith(f"{alone.text} x/db holds 950Mi of its limit of 1Gi (container app)")


def test_the_pod_that_reaches_its_own_limit_before_a_threshold_acts_stands_first() -> None:
    snapshot = approaching()
    alone = status_of(snapshot, snapshot.at)
    (row,) = near()["ownLimits"]
    for of, seconds, first in (("container app", 5.0, True), ("all its containers", 3000.0, False)):
        status = {**alone, "ownLimits": [{**row, "of": of, "secondsToLimit": seconds}]}
        assert headline(status).text.startswith("x/db holds") is first
        advice = [each.startswith("delete files ") for each in remedies(status)]
        assert advice.index(True) == (0 if first else len(advice) - 1)
        assert "ephemeral-storage limit" in " ".join(remedies(status))
    slow = {**alone, "ownLimits": [{**row, "secondsToLimit": 5000.0}]}
    assert remedies(slow) == remedies({**alone, "ownLimits": [row]}) == remedies(alone), "it does not grow, or little"


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
    assert own_limits_text(near(ownLimits=[])) == ""

"""What a daemon does not say counts as unknown, and what it says stays."""

from typing import Any

from evictd.render.status.older_daemon import completed
from evictd.render.status.view import status_view
from tests.daemon.status import status_of
from tests.render.shown_nodes import pressed
from tests.render.snapshots import incident_snapshot
from tests.render.status.test_view import shown

LATER = frozenset({
    "asked", "kernelKills", "ownLimits", "owners", "podTermination", "unguardedMemory", "attribution", "beyondPods", "growing",
    "hostPathOwners", "hostPathPods", "leavesFirst", "measuresForSeconds", "nextIfItGrows", "nextIfItStops", "notOfPods",
    "reclaimsFirst", "stopBrief", "stopDoubled", "stopEndsInSeconds", "stopInstead", "stopLastsSeconds", "stopPod",
    "stopPodGuard", "stopThen", "waitsForPages", "configured", "recoveredFrom", "secondsAsBefore", "secondsAtLastFall",
    "refusedFirst", "forPages", "incident", "owner", "tookMost", "why", "awaitedForSeconds", "endsInSeconds", "secondsToLimit",
    "arrived", "measuredSecondsBefore", "budgetMayRefuse", "refusedSecondsAgo", "grows", "raiseRequests", "lately", "lastFall",
    "lastChange", "lastReading", "fellBefore", "absent", "stopIfItGrows",
})  # fmt: skip
"""Fields that the document did not always have."""


def older(document: Any) -> Any:
    """The document without these fields."""
    if isinstance(document, dict):
        return {name: older(each) for name, each in document.items() if name not in LATER}
    return [older(each) for each in document] if isinstance(document, list) else document


def test_the_document_of_this_daemon_stays() -> None:
    for name, seconds in (
        ("16-long-grace-period", 245),
        ("25-budget-of-zero", 600),
        ("17-daemon-sets-a-little-over", 600),
    ):
        snapshot = incident_snapshot(name, seconds)
        status = {**status_of(snapshot, snapshot.at), "faults": [], "headline": {"text": "", "level": ""}}
        assert completed(status) == status


def test_an_older_daemon_is_shown_without_what_it_does_not_say() -> None:
    snapshot = pressed()
    status = status_of(snapshot, snapshot.at)
    conditions = status["conditions"]  # it always said why
    text = shown({**older(status), "conditions": conditions}, 120)
    assert text.startswith("evictd 1.2.3 on node-1")
    assert "memory.available" in text
    assert status_view({**older(status), "conditions": conditions}, width=80)


def test_the_first_part_of_a_reason_is_the_whole_where_it_is_not_told_apart() -> None:
    status = {"signals": [{"stop": "no pod helps; look", "thresholds": []}], "leaving": [], "decisions": []}
    (entry,) = completed(status)["signals"]
    assert entry["stopBrief"] == "no pod helps; look"

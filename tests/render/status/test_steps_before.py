"""What evictd does before it evicts the pod that is next."""

from evictd.render.status.headline import headline
from evictd.render.status.own_faults import OwnFaultKind
from evictd.render.status.remedies import remedies
from evictd.render.status.steps_before import steps_before
from tests.daemon.status import status_of
from tests.render.snapshots import incident_snapshot


def test_without_the_runtime_nothing_is_removed_first() -> None:
    for fault in (OwnFaultKind.PODS, OwnFaultKind.LISTED_PODS):
        assert not steps_before({"faults": [fault.value]}, {"reclaimsFirst": True})
    assert steps_before({"faults": []}, {"reclaimsFirst": True}) == "remove what no pod needs"
    assert not steps_before({}, {}), "an older daemon"


def test_the_grace_periods_of_deleted_pods_are_shortened_first() -> None:
    near = incident_snapshot("11-leaving-pod", 115)
    status = status_of(near, near.at)
    shortens = "Then evictd would shorten the grace period of default/old, and evict default/new if that is too little."
    assert headline(status).text.endswith(shortens)
    assert not any("default/new" in each for each in remedies(status)), "its end would be of no use"
    both = steps_before(status, {"leavesFirst": list("abcd"), "reclaimsFirst": True})
    assert both == "shorten the grace period of a, b, c and 1 more, remove what no pod needs"

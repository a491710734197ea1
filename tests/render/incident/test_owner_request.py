"""Says whether requests of a whole owner would have avoided an eviction: decided again, and played."""

from dataclasses import replace

import pytest

from evictd.core.model.signal import Resource
from evictd.render.incident.avoidance import avoidance
from evictd.render.incident.incident import Incident
from evictd.render.incident.owner_request import higher_than_owner_text, owner_request_text
from evictd.render.incident.verdict import EvictionVerdict, Grower, Need
from tests.render.recorded_incident import incident as recorded_incident
from tests.stories import GI

EVERY = "a request of what they use in all pods of ReplicaSet/hog"


def incident(other: str | None) -> Incident:
    """The recorded incident on a larger node: `default/web` is of the same owner, and with all its requests this pod goes."""
    found = replace(recorded_incident(), siblings=frozenset({"default/web"}), capacity=64 * GI, verdict=None)
    return replace(found, with_request="default/web", with_owner_request=other)


def third() -> str:
    """Another pod of the ranking."""
    return next(row.pod for row in incident(None).ranking if not row.chosen and row.pod != "default/web")


def test_the_pod_that_would_have_gone_is_named() -> None:
    """For two databases above their requests beside four log writers it was said only that the second would have gone."""
    assert owner_request_text(incident(third()), Resource.MEMORY).startswith(f"{EVERY}: {third()} (")


@pytest.mark.parametrize("other", [None, "", "default/web", "default/unknown"])
def test_nothing_is_said_where_none_of_another_owner_goes(other: str | None) -> None:
    assert owner_request_text(incident(other), Resource.MEMORY) == ""


def test_nothing_is_said_of_a_pod_of_higher_priority_or_of_one_that_grows_past_its_request() -> None:
    found = incident(third())
    rows = tuple(replace(row, priority=1000) if row.pod == third() else row for row in found.ranking)
    assert owner_request_text(replace(found, ranking=rows), Resource.MEMORY) == ""
    assert higher_than_owner_text(found, Resource.MEMORY) == ""
    grown = Grower(pod=found.event.pod, rate=GI)
    verdict = EvictionVerdict(need=Need.NEEDED, pod=found.event.pod, growers=(grown,), played=1)
    assert owner_request_text(replace(found, verdict=verdict), Resource.MEMORY) == ""


def test_a_pod_of_higher_priority_that_goes_instead_of_all_of_them_is_named() -> None:
    """Of four workers another one was said to go with a request of 800Mi: in the template of all it spares each of them."""
    found = incident(third())
    rows = tuple(replace(row, priority=1000) if row.pod == third() else row for row in found.ranking)
    instead = (
        "default/web of the same owner would have gone in its place then; with that of all pods of ReplicaSet/hog, "
    )
    (told,) = (each for each in avoidance(replace(found, ranking=rows)).not_by if "of the same owner" in each)
    assert instead + third() in told
    assert told.endswith(", whose priority 1000 is higher")
    verdict = EvictionVerdict(
        need=Need.ANOTHER_POD, pod=found.event.pod, growers=(Grower(pod=third(), rate=GI),), played=1
    )
    cause = replace(found, ranking=rows, verdict=verdict)
    assert owner_request_text(cause, Resource.MEMORY).endswith("priority 1000 is higher; it is the one that grew")
    assert higher_than_owner_text(cause, Resource.MEMORY) == ""


def test_requests_that_do_not_fit_on_the_node_are_the_schedulers() -> None:
    text = owner_request_text(replace(incident(third()), capacity=8 * GI), Resource.MEMORY)
    assert (
        text
        == f"{EVERY}: the pods here would request 11Gi of the 8Gi of the node, so not all of them would be placed on it"
    )

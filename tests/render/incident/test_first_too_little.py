"""Pods that would have gone first with another request, and hold too little."""

from dataclasses import replace

from evictd.render.incident.first_too_little import first_that_lasts, first_too_little
from evictd.render.incident.verdict import EvictionVerdict, Grower, Need
from tests.render.recorded_incident import incident
from tests.stories import GI


def test_pods_above_their_requests_that_hold_less_than_grows_in_a_minute_are_too_little() -> None:
    """A request was proposed with which two small pods go first: three seconds later the same pod went."""
    found = incident()
    small = tuple(
        row if row.chosen else replace(row, usage=2 * GI, request=0, protected=False) for row in found.ranking
    )
    others = tuple(row.pod for row in small if not row.chosen)
    found = replace(found, ranking=small)
    grower = Grower(pod="default/within", rate=GI)
    verdict = EvictionVerdict(need=Need.ANOTHER_POD, pod="default/hog-old", growers=(grower,), played=0)
    grown = "and all pods above their requests hold less than others grow by in a minute"
    assert first_too_little(replace(found, verdict=verdict)) == grown
    host = replace(verdict, growers=(replace(grower, pod=""),))
    assert first_too_little(replace(found, verdict=host)) == "", "less use of the host is proposed there"
    slow = replace(verdict, growers=(replace(grower, rate=1 << 20),))
    assert first_too_little(replace(found, verdict=slow)) == ""
    one_of_them = replace(verdict, growers=(replace(grower, pod=others[0]),))
    assert first_too_little(replace(found, verdict=one_of_them)) == "", "its end stops the growth"


def test_pods_that_hold_less_than_is_missing_are_too_little() -> None:
    found = replace(incident(), verdict=None)
    small = tuple(row if row.chosen else replace(row, usage=1, request=0, protected=False) for row in found.ranking)
    assert first_too_little(replace(found, ranking=small)) == "and that is too little"
    assert first_too_little(replace(found, ranking=())) == ""


def test_a_pod_that_lasts_holds_what_grows_in_a_minute_too() -> None:
    """A higher priority was proposed beside a pod whose end would have lasted for seconds: that one is passed over."""
    found = replace(incident(), points=((-60.0, GI), (0.0, GI // 2)))
    small = tuple(row if row.chosen else replace(row, usage=GI + GI // 2, protected=False) for row in found.ranking)
    found = replace(found, ranking=small)
    assert first_that_lasts(found) is None
    still = replace(found, points=())
    assert still.rate is None
    first = first_that_lasts(still)
    assert first is not None
    grower = Grower(pod=first.pod, rate=1 << 20)
    verdict = EvictionVerdict(need=Need.ANOTHER_POD, pod="default/hog-old", growers=(grower,), played=0)
    assert first_that_lasts(replace(found, verdict=verdict)) == first
    assert first_that_lasts(replace(still, siblings=frozenset(row.pod for row in small))) is None
    assert first_that_lasts(replace(still, available=None)) is None

"""Whether the pods of the evicted pod's owner had no part in what made the node short."""

from dataclasses import replace

from evictd.render.incident.owner_growth import only_others_grew
from evictd.render.incident.verdict import EvictionVerdict, Grower, Need
from tests.render.recorded_incident import incident


def test_only_others_grew_where_neither_the_pod_nor_one_of_its_owner_did_and_none_came_back() -> None:
    other, own = Grower(pod="default/web", rate=10), Grower(pod="default/hog-old", rate=2)
    verdict = EvictionVerdict(need=Need.ANOTHER_POD, pod="default/hog-old", growers=(other,), played=0)
    found = replace(incident(), verdict=verdict, siblings=frozenset(), successors=())
    assert only_others_grew(found)
    assert not only_others_grew(replace(found, verdict=replace(verdict, growers=(other, own))))
    assert only_others_grew(replace(found, verdict=replace(verdict, growers=(replace(other, rate=100), own)))), "little"
    assert not only_others_grew(replace(found, siblings=frozenset({"default/web"})))
    assert not only_others_grew(replace(found, successors=(("default/hog-new", 3.0),))), "they return to this node"
    assert only_others_grew(replace(found, successors=(("default/hog-new", 1428.0),))), "not soon"
    assert not only_others_grew(replace(found, verdict=replace(verdict, growers=())))
    assert not only_others_grew(replace(found, measured=False)), "what it took is not known"

"""What grew before an eviction beside the evicted pod."""

from dataclasses import replace

from evictd.render.incident.grows_on import GrowsOn
from evictd.render.incident.other_growers import other_growers
from evictd.render.incident.verdict import EvictionVerdict, Grower, Need
from tests.render.recorded_incident import incident


def test_a_pod_that_grew_little_counts_where_it_grows_on() -> None:
    """A leak of a twentieth of the growth was left out, and made the node short hours later."""
    fast, slow = Grower(pod="default/hog-old", rate=20 << 20), Grower(pod="default/web", rate=1 << 20)
    verdict = EvictionVerdict(need=Need.NEEDED, pod="default/hog-old", growers=(fast, slow), played=0)
    found = replace(incident(), verdict=verdict)
    assert other_growers(found) == ()
    assert other_growers(replace(found, grows_on=GrowsOn(growers=(slow,), short_at="11:13:44"))) == (slow,)
    equal = replace(slow, rate=20 << 20)
    assert other_growers(replace(found, verdict=replace(verdict, growers=(fast, equal)))) == (equal,)
    nameless = Grower(pod="", rate=20 << 20)
    assert other_growers(replace(found, verdict=replace(verdict, growers=(fast, nameless)))) == (nameless,)
    assert other_growers(replace(found, verdict=replace(verdict, growers=(nameless,)), measured=False)) == ()
    assert other_growers(replace(found, verdict=None)) == ()

"""A pod that grew for a long time, and a fast one of the last minute that brought its eviction forward."""

from dataclasses import replace

from evictd.core.units.duration import MINUTE
from evictd.render.incident.avoidance import avoidance
from evictd.render.incident.hastened import hastened_cause, hastened_text
from evictd.render.incident.incident import Incident
from evictd.render.incident.other_growers import other_growers
from evictd.render.incident.summary import summary_text
from evictd.render.incident.verdict import EvictionVerdict, Grower, Need
from tests.render.recorded_incident import incident

MI = 1 << 20
LEAK = Grower(pod="default/hog-old", rate=12 * MI, grown=4800 * MI, over=7 * MINUTE)
BURST = Grower(pod="default/web", rate=16 * MI, grown=720 * MI, over=7 * MINUTE)


def grown(*growers: Grower) -> Incident:
    """The incident before which these grew."""
    verdict = EvictionVerdict(need=Need.NEEDED, pod="default/hog-old", growers=growers, played=5 * MINUTE)
    return replace(incident(), host_filled=False, verdict=verdict)


def test_a_burst_brings_the_eviction_of_a_leak_forward() -> None:
    """The burst of a minute was named as the cause, and less of it as what would have avoided the eviction."""
    found = grown(BURST, LEAK)
    cause = "default/hog-old grew by 4.69Gi in 7m0s and went"
    assert hastened_cause(found, "went") == f"{cause}; default/web only brought it forward"
    assert summary_text(found).startswith(cause)
    later = "less growth of default/web: default/hog-old grew by 12Mi a second, so it would have gone about 1m0s later"
    assert hastened_text(found) == later
    assert later in avoidance(found).not_by
    assert not any("less growth of default/web" in each for each in avoidance(found).by)
    assert other_growers(found) == (BURST,)
    assert other_growers(replace(found, steady=frozenset({"default/web"}))) == (), "a limit of the leak alone suffices"


def test_nothing_brings_it_forward_where_the_fast_one_grew_as_much_or_its_past_is_not_known() -> None:
    unknown, as_much = replace(BURST, grown=None), replace(BURST, grown=4000 * MI)
    for growers in ((unknown, LEAK), (as_much, LEAK), (BURST,), (LEAK, replace(BURST, rate=MI))):
        assert hastened_cause(grown(*growers), "went") == ""
        assert hastened_text(grown(*growers)) == ""
    assert hastened_text(replace(grown(), verdict=None)) == ""

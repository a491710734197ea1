"""What grew before an eviction, by how much a second, and which of it made the node short."""

from dataclasses import replace

import pytest

from evictd.core.model.signal import Signal
from evictd.core.units.duration import MINUTE
from evictd.render.incident.cause.growers import (
    brought_forward_cause,
    brought_forward_remedy,
    grew_beside_text,
    grew_together,
    grower_rate,
    larger_culprit,
    only_others_grew,
    other_growers,
    together_text,
)
from evictd.render.incident.needed import verdict_text
from evictd.render.incident.record.arrivals import NewPods
from evictd.render.incident.record.grows_on import GrowsOn
from evictd.render.incident.record.incident import Incident
from evictd.render.incident.record.verdict import EvictionVerdict, Grower, Need
from evictd.render.incident.remedy.avoidance import avoidance
from evictd.render.incident.remedy.now import now_text
from evictd.render.incident.summary import summary_text
from tests.render.recorded_incident import incident
from tests.stories import GI

MI = 1 << 20

FELL = 89478485
"""By how much a second the signal of the recorded incident fell."""


@pytest.mark.parametrize(
    ("rates", "rate"),
    [
        ((40 * MI,), FELL),
        ((10 * MI,), 10 * MI),
        ((40 * MI, 40 * MI), FELL // 2),
        ((20 * MI, 20 * MI), 20 * MI),
    ],
    ids=["alone", "of something else as well", "together", "of something else together"],
)
def test_pods_grew_by_what_the_signal_fell_by(rates: tuple[int, ...], rate: int) -> None:
    """One report had 12.8 and 13.8Mi a second for the same growth (world 42), another 46.9 and 40.8."""
    growers = tuple(Grower(pod=f"default/{number}", rate=each) for number, each in enumerate(rates))
    verdict = EvictionVerdict(need=Need.NEEDED, pod="default/hog-old", growers=growers, played=5 * MINUTE)
    assert grower_rate(replace(incident(), verdict=verdict), growers[0]) == rate


def test_the_rate_of_the_line_of_the_eviction_is_taken_where_it_agrees() -> None:
    found, grower = incident(), Grower(pod="default/hog-old", rate=80 * MI)
    because = {**found.event.evidence["because"], "fillRate": FELL + MI}
    found = replace(found, event=replace(found.event, evidence={**found.event.evidence, "because": because}))
    verdict = EvictionVerdict(need=Need.NEEDED, pod="default/hog-old", growers=(grower,), played=5 * MINUTE)
    assert grower_rate(replace(found, verdict=verdict), grower) == FELL + MI
    assert grower_rate(replace(found, verdict=None), grower) == grower.rate


def test_what_pods_held_that_came_is_no_part_of_the_growth_of_another() -> None:
    """9.4Mi a second were written of a pod that grew by 8Mi, while six others came."""
    grower = Grower(pod="default/hog-old", rate=60 * MI)
    verdict = EvictionVerdict(need=Need.NEEDED, pod="default/hog-old", growers=(grower,), played=5 * MINUTE)
    came = NewPods(before=6, over=MINUTE, held=1500 * MI)
    found = replace(incident(), verdict=verdict)
    assert grower_rate(found, grower) == FELL
    assert grower_rate(replace(found, arrivals=came), grower) == 60 * MI
    assert grower_rate(replace(found, arrivals=replace(came, held=MI)), grower) == FELL, "next to nothing"


def test_a_pod_that_came_itself_and_grew_as_fast_as_the_signal_fell_has_the_same_rate() -> None:
    """A report had `grew by 6.4Mi a second` beside a threshold `at 6.3Mi a second`."""
    grower = Grower(pod="default/hog-old", rate=FELL * 105 // 100)
    verdict = EvictionVerdict(need=Need.NEEDED, pod="default/hog-old", growers=(grower,), played=5 * MINUTE)
    found = replace(incident(), verdict=verdict, arrivals=NewPods(before=1, over=MINUTE, held=1500 * MI))
    assert grower_rate(found, grower) == FELL


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


def test_only_others_grew_where_neither_the_pod_nor_one_of_its_owner_did() -> None:
    other, own = Grower(pod="default/web", rate=10), Grower(pod="default/hog-old", rate=2)
    verdict = EvictionVerdict(need=Need.ANOTHER_POD, pod="default/hog-old", growers=(other,), played=0)
    found = replace(incident(), verdict=verdict, siblings=frozenset())
    assert only_others_grew(found)
    assert not only_others_grew(replace(found, verdict=replace(verdict, growers=(other, own))))
    assert only_others_grew(replace(found, verdict=replace(verdict, growers=(replace(other, rate=100), own)))), "little"
    assert not only_others_grew(replace(found, siblings=frozenset({"default/web"})))
    assert not only_others_grew(replace(found, verdict=replace(verdict, growers=())))
    assert not only_others_grew(replace(found, measured=False)), "what it took is not known"


MIB = 1 << 20


def beside(*growers: Grower) -> Incident:
    """The recorded incident, with another pod beyond its request, and a verdict in which these grew."""
    found = replace(incident(), host_filled=False, elsewhere=3 * GI)
    web = next(row for row in found.ranking if row.pod == "default/web")
    rows = (*found.ranking, replace(web, pod="default/api", number=web.number + 1))
    verdict = EvictionVerdict(need=Need.ANOTHER_POD, pod=found.event.pod, growers=growers, played=0)
    return replace(found, ranking=rows, verdict=verdict)


WEB, API = Grower(pod="default/web", rate=40 * MIB), Grower(pod="default/api", rate=40 * MIB)


def test_they_are_named_instead_of_the_host() -> None:
    """Two pods grew by 328Mi a second, and less use outside pods was proposed, which stood still."""
    found = beside(WEB, API)
    assert grew_together(found) == (WEB, API)
    first, *others = avoidance(found).by
    assert first.startswith(f"less growth of {together_text(found)}; limits of memory of at most ")
    assert together_text(found).startswith("default/web, default/api: they took 8")
    assert not any("outside pods" in each for each in others)


def test_none_is_named_where_one_the_host_or_the_evicted_pod_did() -> None:
    assert not grew_together(beside(WEB))
    assert not grew_together(beside(WEB, API, Grower(pod="default/hog-old", rate=40 * MIB)))
    assert not grew_together(beside(Grower(pod="", rate=200 * MIB), WEB, API))
    assert not grew_together(replace(beside(WEB, API), host_filled=True))
    assert not grew_together(replace(beside(WEB, API), verdict=None))
    assert together_text(beside(WEB)) == ""


def test_none_is_named_that_grew_within_its_request() -> None:
    found = beside(WEB, API)
    assert not grew_together(replace(found, ranking=tuple(replace(row, request=9 * GI) for row in found.ranking)))


def test_those_that_were_evicted_later_are_to_be_mended() -> None:
    """Nothing was to do but to reserve what belongs to no pod."""
    found = beside(WEB, API)
    gone = tuple(replace(found.event, pod=each.pod, uid=each.pod, owner="DaemonSet/api") for each in (WEB, API))
    now = now_text(replace(found, after=gone, running=frozenset(), clear_text=""))
    assert now.startswith("mend or limit what DaemonSet/api runs: default/web, default/api grew by 8")
    assert "a second together and were evicted after this pod" in now
    alone = tuple(replace(each, owner="") for each in gone)
    now = now_text(replace(found, after=alone, running=frozenset(), clear_text=""))
    assert now.startswith("mend or limit default/web, default/api: they grew by 8")


def test_the_owner_of_a_pod_that_did_not_grow_is_not_to_be_mended() -> None:
    """Seven pods of an owner that came back were evicted beside four that grew, and "StatefulSet/log mended" was proposed."""
    found = beside(WEB, API)
    back = replace(found, of_owner=7, successors=(("default/hog-new", 2.0),))
    assert not any("mended" in each for each in avoidance(back).by)
    assert not any("mended" in each for each in avoidance(replace(back, verdict=None)).by), "what grew is not known"


@pytest.fixture(scope="module")
def found() -> Incident:
    """A cache without a bound grew by 15Mi a second beside a hostPath volume that grew by 120Mi."""
    growers = (Grower(pod="", rate=120 << 20), Grower(pod="default/hog-old", rate=15 << 20))
    verdict = EvictionVerdict(need=Need.NO_POD_HELPS, pod="default/hog-old", growers=growers, played=0)
    points = ((-60.0, 8100 << 20), (0.0, 0))
    disk = replace(incident(), signal=Signal.NODEFS_AVAILABLE, points=points, met=replace(incident().met, again=55.0))
    return replace(disk, host_filled=True, suspects={"default/hp": ""}, still_met=True, verdict=verdict)


def test_its_growth_is_named_and_it_is_to_be_mended_too(found: Incident) -> None:
    """The pod that grew without a bound was named neither as a cause nor in what is to do."""
    grew = "default/hog-old grew by 15Mi a second as well"
    assert grew_beside_text(found) == grew
    assert f"belongs to no pod or lies in a hostPath volume, and {grew}" in summary_text(found)
    assert now_text(found).endswith("delete the files in them; mend or limit what ReplicaSet/hog runs")
    said = "the end of a pod was needed: what belongs to no pod, default/hog-old filled it"
    assert verdict_text(found).startswith(said), "its end was not needed, it was said"
    assert avoidance(found).not_by[0].startswith("a request, a limit or a priority of this pod alone that keeps it: ")


def test_a_pod_that_grew_little_or_within_its_request_is_not_named(found: Incident) -> None:
    assert found.verdict is not None
    little = replace(found.verdict, growers=(Grower(pod="", rate=200 << 20), found.verdict.growers[1]))
    within = tuple(replace(row, request=1 << 40) for row in found.ranking)
    for other in (
        replace(found, verdict=little),
        replace(found, ranking=within),
        replace(found, host_filled=False),
        replace(found, measured=False),
        replace(found, verdict=None),
    ):
        assert grew_beside_text(other) == ""
    assert now_text(replace(found, verdict=little)).endswith("delete the files in them")


def test_a_pod_whose_end_would_have_been_enough_is_named_before_one_that_grew_faster() -> None:
    """A new pod of 2Gi was named for the end of a cache, and not the one with 46.5Gi that had filled the disk."""
    growers = (Grower(pod="default/hog-new", rate=60 << 20), Grower(pod="default/web", rate=40 << 20))
    verdict = EvictionVerdict(
        need=Need.ANOTHER_POD, pod="default/hog-old", fewest=("default/web",), growers=growers, played=0
    )
    found = replace(incident(), host_filled=False, verdict=verdict)
    enough = "less growth of default/web: it held 5Gi, and its end would have been enough"
    assert larger_culprit(found) == (enough,)
    first, second, *_ = avoidance(found).by
    assert first == enough
    assert second.startswith("less growth of default/hog-new: it took ")
    several = replace(verdict, fewest=("default/hog-new", "default/web"))
    for other in (None, several, replace(verdict, need=Need.NEEDED)):
        assert larger_culprit(replace(found, verdict=other)) == ()


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
    assert brought_forward_cause(found, "went") == f"{cause}; default/web only brought it forward"
    assert summary_text(found).startswith(cause)
    later = "less growth of default/web: default/hog-old grew by 12Mi a second, so it would have gone about 1m0s later"
    assert brought_forward_remedy(found) == later
    assert later in avoidance(found).not_by
    assert not any("less growth of default/web" in each for each in avoidance(found).by)
    assert other_growers(found) == (BURST,)
    assert other_growers(replace(found, steady=frozenset({"default/web"}))) == (), "a limit of the leak alone suffices"


def test_nothing_brings_it_forward_where_the_fast_one_grew_as_much_or_its_past_is_not_known() -> None:
    unknown, as_much = replace(BURST, grown=None), replace(BURST, grown=4000 * MI)
    for growers in ((unknown, LEAK), (as_much, LEAK), (BURST,), (LEAK, replace(BURST, rate=MI))):
        assert brought_forward_cause(grown(*growers), "went") == ""
        assert brought_forward_remedy(grown(*growers)) == ""
    assert brought_forward_remedy(replace(grown(), verdict=None)) == ""

"""An incident in one sentence."""

from dataclasses import replace

import pytest

from evictd.core.model.signal import Signal
from evictd.core.units.duration import MINUTE, SECOND
from evictd.render.history.history import EventKind, HistoryEvent
from evictd.render.incident.needed import verdict_text
from evictd.render.incident.record.aftermath import MetAfter
from evictd.render.incident.record.arrivals import NewPods
from evictd.render.incident.record.earlier import Earlier
from evictd.render.incident.record.incident import Incident
from evictd.render.incident.record.verdict import EvictionVerdict, Grower, Need
from evictd.render.incident.relief.relief import relief_lines
from evictd.render.incident.summary import filled_by_arrivals, summary_text
from tests.render.recorded_incident import incident
from tests.stories import GI


def judged(need: Need, *growers: Grower, pod: str = "default/hog-old") -> Incident:
    """The recorded incident with a verdict and pods as the cause."""
    verdict = EvictionVerdict(need=need, pod=pod, growers=growers, played=5 * MINUTE)
    return replace(incident(), verdict=verdict, host_filled=False)


LEAK, OTHER = Grower(pod="default/hog-old", rate=20 << 20), Grower(pod="default/web", rate=20 << 20)

IN_ITS_PLACE = "in its place would have been enough, also at the growth of the minute before"


def another() -> Incident:
    """The end of another pod, which grew, would have been enough."""
    verdict = EvictionVerdict(
        need=Need.ANOTHER_POD, pod="default/hog-old", fewest=("default/web",), growers=(OTHER,), played=5 * MINUTE
    )
    return replace(incident(), verdict=verdict, host_filled=False)


def test_a_mean_rate_is_told_apart_from_that_of_the_eviction() -> None:
    """79.7Mi a second stood above the line of an eviction that said 2Gi/s, each without its time."""
    found = judged(Need.NEEDED, LEAK)
    event = replace(
        found.event, evidence={**found.event.evidence, "because": {**found.event.because, "fillRate": 2 * GI}}
    )
    assert "grew by 20Mi a second on average and went" in summary_text(replace(found, event=event))


@pytest.mark.parametrize(
    ("found", "cause"),
    [
        (replace(incident(), signal=None), "default/hog-old exceeded a limit of its own"),
        (
            replace(incident(), available=9 * GI // 4, min_reclaim=GI),
            "the threshold was clear already, its minimum reclaim was not",
        ),
        (
            replace(judged(Need.NEEDED, LEAK), available=9 * GI // 4, min_reclaim=GI),
            "the threshold was clear already, its minimum reclaim was not, and default/hog-old grew by 20Mi a second",
        ),
        (
            replace(incident(), measured=False),
            "default/hog-old was not measured, so how much it took of memory is not known",
        ),
        (
            replace(judged(Need.NO_POD_HELPS), measured=False),
            "default/hog-old was not measured, and its end showed that it held what was missing",
        ),
        (replace(incident(), host_filled=True), "what filled memory belongs to no pod"),
        (
            replace(incident(), host_filled=True, signal=Signal.NODEFS_AVAILABLE),
            "what filled the disk belongs to no pod or lies in a hostPath volume",
        ),
        (judged(Need.NEEDED, LEAK), "default/hog-old grew by 20Mi a second and went"),
        (replace(judged(Need.NEEDED, LEAK), leaves=True), "default/hog-old grew by 20Mi a second and is being evicted"),
        (judged(Need.ANOTHER_POD, OTHER), "default/web grew by 20Mi a second, and default/hog-old went"),
        (
            judged(Need.ANOTHER_POD, OTHER, replace(LEAK, rate=10 << 20)),
            "default/web grew by 20Mi a second, default/hog-old by 10Mi, and default/hog-old went",
        ),
        (
            judged(Need.ANOTHER_POD, OTHER, replace(LEAK, rate=5 << 20)),
            "default/web grew by 20Mi a second, and default/hog-old went",
        ),
        (
            replace(judged(Need.NEEDED, replace(LEAK, rate=500)), signal=Signal.PID_AVAILABLE),
            "default/hog-old grew by 500 processes a second and went",
        ),
    ],
)
def test_the_cause_comes_first(found: Incident, cause: str) -> None:
    assert summary_text(found).split("; ")[0] == cause


def test_since_when_a_pod_was_not_measured_is_said() -> None:
    """It said that nothing is known of how much it took, below `it used 2.05Gi 30s before`."""
    event = incident().event
    evidence = {**event.evidence, "because": {**event.because, "usageAgeNanoseconds": 30 * SECOND}}
    found = replace(incident(), event=replace(event, evidence=evidence), measured=False)
    not_known = "default/hog-old was not measured in the 30s before, so how much it took of memory then is not known"
    assert summary_text(found).startswith(not_known)


@pytest.mark.parametrize(
    ("found", "cause"),
    [
        (
            judged(Need.NEEDED, replace(LEAK, rate=3 << 20), replace(OTHER, rate=3 << 20)),
            "default/hog-old and default/web grew by 6Mi a second together, and default/hog-old went",
        ),
        (judged(Need.NO_POD_HELPS), "no pod that may go held what was missing"),
        (
            replace(judged(Need.NEEDED), arrivals=NewPods(before=12, over=60 * SECOND, held=6 * GI)),
            "12 pods came in the 1m0s before it, 6Gi together, and default/hog-old went",
        ),
        (
            replace(
                judged(Need.NO_POD_HELPS), points=((-60.0, GI), (0.0, GI)), event=replace(incident().event, filled="")
            ),
            "nothing grew in the minute before",
        ),
        (
            replace(judged(Need.NEEDED), verdict=None, pods_filled=True, main_grower="a/b"),
            "a/b filled memory, and default/hog-old went",
        ),
        (replace(judged(Need.NEEDED), pods_filled=True), "pods filled memory, no one of them most of it"),
        (
            replace(judged(Need.NEEDED), pods_filled=True, filled_by="ReplicaSet/web"),
            "pods of ReplicaSet/web filled memory, no one of them most of it",
        ),
        (
            replace(
                judged(Need.NEEDED, LEAK, OTHER),
                siblings=frozenset({"default/web"}),
                event=replace(incident().event, owner="Job/x"),
            ),
            "2 pods of Job/x grew by 40Mi a second together, and default/hog-old went",
        ),
    ],
)
def test_without_a_pod_that_made_most_of_the_growth_the_cause_is_what_is_known(found: Incident, cause: str) -> None:
    """`nothing grew` was said of a node that filled with new pods, and nothing at all where several pods grew."""
    assert summary_text(found).split("; ")[0] == cause


def test_a_pod_that_held_more_than_it_requested_is_the_cause_and_refusals_are_counted() -> None:
    """Six refusals of a budget were left out of the report."""
    refused = HistoryEvent(at="2026-01-01T00:00:20Z", kind=EventKind.REFUSED, uid=incident().event.uid, text="refused")
    rows = tuple(replace(row, request=GI) if row.chosen else row for row in incident().ranking)
    found = replace(judged(Need.NEEDED), ranking=rows, before=(refused, refused))
    assert found.refusals == 2
    assert summary_text(found).startswith(
        "default/hog-old held 5Gi more than it requested, and went after a disruption budget had refused it 2 times; "
    )


def test_page_cache_that_the_kernel_can_drop_is_the_cause() -> None:
    because = {**incident().event.evidence["because"], "filePages": 5 * GI}
    event = replace(incident().event, evidence={**incident().event.evidence, "because": because})
    assert summary_text(replace(incident(), event=event)).startswith(
        "page cache that the kernel can drop held the threshold met; "
    )


@pytest.mark.parametrize(
    ("found", "effect"),
    [
        (judged(Need.NEEDED, LEAK), "the eviction relieved the node"),
        (
            replace(judged(Need.NOTHING_SHORT, LEAK), known_for=10),
            "the eviction was not needed if growth went on for 5m0s as in the minute before",
        ),
        # It said "not needed if growth went on", as if growth made the eviction unnecessary.
        (
            replace(another(), known_for=10),
            f"the eviction was not needed: the end of default/web {IN_ITS_PLACE}",
        ),
        # The threshold was met again, so what was foreseen did not come.
        (
            replace(judged(Need.NOTHING_SHORT, LEAK), met=MetAfter(again=9.0)),
            "the eviction relieved the node for 7s only",
        ),
        # The host filled memory: the end of any pod helps for a time only.
        (
            replace(judged(Need.ANOTHER_POD, LEAK), host_filled=True, met=MetAfter(again=37.0)),
            "the eviction relieved the node for 35s only",
        ),
        (
            replace(judged(Need.NOTHING_SHORT), pods_filled=True, met=MetAfter(again=9.0)),
            "the eviction was not needed if no other pod came",
        ),
        (
            replace(judged(Need.NOTHING_SHORT), pods_filled=True, met=MetAfter(again=9.0), arrivals=NewPods(after=2)),
            "the eviction was not needed by what was there, but 2 other pods came in the 5m0s after it",
        ),
        (
            replace(judged(Need.NEEDED, LEAK), met=MetAfter(again=152.0)),
            "the eviction relieved the node for 2m30s only",
        ),
        (
            replace(judged(Need.NEEDED, LEAK), clear=None, points=((-30.0, GI), (9.0, GI))),
            "the eviction gave back too little",
        ),
        (replace(judged(Need.NEEDED, LEAK), known_for=9.0), "the eviction gave back enough"),
        (
            replace(judged(Need.NEEDED, LEAK), clear=None, known_for=3.0, points=((0.0, GI // 2), (2.0, GI // 2))),
            "nothing came back up to the journal's last record, 3s later",
        ),
    ],
)
def test_then_comes_what_the_eviction_achieved(found: Incident, effect: str) -> None:
    assert summary_text(found).split("; ")[1:] == [effect]


def test_pods_of_one_owner_that_go_again_and_again_are_counted_last() -> None:
    """117 evictions of a recreated pod read like one."""
    found = replace(judged(Need.NEEDED, LEAK), of_owner=117)
    assert summary_text(found).split("; ")[-1] == "117 pods of ReplicaSet/hog were evicted here"


def test_a_dry_run_and_an_unknown_relief_have_no_effect() -> None:
    cause = "default/hog-old grew by 20Mi a second and went"
    assert summary_text(replace(judged(Need.NEEDED, LEAK), clear=None, points=((0.0, GI // 2),))) == cause
    dry = replace(judged(Need.NEEDED, LEAK), event=replace(incident().event, dry_run=True))
    assert summary_text(dry) == cause.replace(" and went", " and would have gone")


def test_a_disk_that_was_full_for_a_while_is_said_to_have_been() -> None:
    found = replace(incident(), signal=Signal.NODEFS_AVAILABLE, host_filled=True, available=0)
    full = replace(found, points=((-20.0, 1), (-12.0, 0), (0.0, 0)))
    assert ", and nothing was left from 00:00:18 on" in summary_text(full)
    assert "nothing was left" not in summary_text(replace(full, points=((-12.0, 1), (0.0, 0))))


def grown_within_its_request() -> Incident:
    """default/web grew within its request of 4Gi, and the pod that went held 6Gi, of which it had requested 1Gi."""
    found = judged(Need.ANOTHER_POD, Grower(pod="default/web", rate=20 << 20))
    found = replace(found, verdict=found.verdict and replace(found.verdict, fewest=("default/web",)))
    sizes = {"default/web": (3 * GI, 4 * GI), "default/hog-old": (6 * GI, GI)}
    rows = []
    for row in found.ranking:
        usage, request = sizes.get(row.pod, (row.usage, row.request))
        rows.append(replace(row, usage=usage, request=request))
    return replace(found, ranking=tuple(rows))


def test_a_pod_that_grew_within_its_request_is_not_said_to_be_to_blame() -> None:
    """`default/service grew by 20Mi a second, and default/batch went` blamed the pod that was within its request."""
    found = grown_within_its_request()
    assert summary_text(found).startswith(
        "default/web grew within its request (3Gi of 4Gi); default/hog-old held 5Gi more than it requested, and went; "
    )
    assert verdict_text(found) == (
        "its end or that of default/web was needed, and it relieved the node; default/web grew within its request (3Gi of 4Gi)"
    )


def test_a_grace_period_that_was_shortened_is_told() -> None:
    """The headline left out that 600 s of grace became one."""
    found = judged(Need.NEEDED, LEAK)
    event = replace(found.event, evidence={**found.event.evidence, "gracePeriodSeconds": 600})
    short = HistoryEvent(at="", kind=EventKind.SHORTENED, uid=event.uid, text="", evidence={"gracePeriodSeconds": 1})
    assert "; its grace period was shortened from 600s to 1s; " in summary_text(
        replace(found, event=event, after=(short,))
    )
    brief = replace(event, evidence={**event.evidence, "gracePeriodSeconds": 2})
    assert "shortened" not in summary_text(replace(found, event=brief, after=(short,)))


def test_the_rate_of_the_pod_that_alone_grew_is_that_of_the_signal() -> None:
    """130Mi a second stood beside the true 100Mi: the layers of a pod are measured less often (world 33)."""
    found = judged(Need.NEEDED, Grower(pod="default/hog-old", rate=110 << 20))
    assert summary_text(found).startswith("default/hog-old grew by 85.3Mi a second")
    other = judged(Need.NEEDED, Grower(pod="default/hog-old", rate=500 << 20))
    assert summary_text(other).startswith("default/hog-old grew by 500Mi a second"), "too far from it to be the same"


@pytest.mark.parametrize(("risen", "amount"), [(0, "nothing"), (GI // 4, "256Mi")])
def test_what_came_back_up_to_the_end_of_the_journal_is_said_once_in_one_sentence(risen: int, amount: str) -> None:
    """`was not read yet` stood above `nothing came back up to the last reading`."""
    points = ((0.0, GI // 2), (0.5, GI // 2 + risen))
    found = replace(judged(Need.NO_POD_HELPS), points=points, known_for=1.0, clear=None, met=MetAfter(still=1.0))
    said = f"{amount} came back up to the journal's last record, 1s later"
    assert summary_text(found).endswith(f"; {said}")
    assert said in list(relief_lines(found))


def test_a_count_that_came_back_has_a_unit() -> None:
    """`298 came back` was all that was said of PIDs."""
    found = replace(judged(Need.NO_POD_HELPS), signal=Signal.PID_AVAILABLE, available=0, levels=(("hard", 800),))
    found = replace(found, points=((0.0, 0), (0.5, 298)), known_for=1.0, clear=None, met=MetAfter(still=1.0))
    assert "298 processes came back up to the journal's last record" in summary_text(found)


def test_a_resize_that_was_not_granted_is_named() -> None:
    """A pod of a request of 6Gi was said to be over its request of 256Mi."""
    text = summary_text(replace(judged(Need.NEEDED, LEAK), asked=12 * GI))
    assert "; its request counts as 0, because its resize to 12Gi was not granted" in text


def test_the_headline_has_the_rate_of_the_line_of_the_eviction() -> None:
    """1023Mi a second stood above 1Gi/s (world 01)."""
    found = judged(Need.NEEDED, Grower(pod="default/hog-old", rate=85 << 20))
    because = {**found.event.evidence["because"], "fillRate": 86 << 20}
    event = replace(found.event, evidence={**found.event.evidence, "because": because})
    assert summary_text(replace(found, event=event)).startswith("default/hog-old grew by 86Mi a second")
    other = replace(event, evidence={**event.evidence, "because": {**because, "fillRate": 400 << 20}})
    assert summary_text(replace(found, event=other)).startswith("default/hog-old grew by 85.3Mi a second")


def test_what_held_further_evictions_back_is_said_where_too_little_came_back() -> None:
    """Two evictions gave back too little, and the limit of two evictions was not named (world 44)."""
    limit = HistoryEvent(
        at="2026-01-01T00:00:40Z", kind=EventKind.NO_ACTION, text="", evidence={"reason": "EvictionLimitReached"}
    )
    found = replace(judged(Need.NEEDED, LEAK), after=(limit,))
    assert "evictionLimit" not in summary_text(found)
    little = replace(found, points=(*(each for each in found.points if each[0] <= 0), (5.0, found.available or 0)))
    little = replace(little, freed=0, clear=None, met=MetAfter(still=300))
    assert summary_text(little).endswith("gave back too little; evictionLimit held further evictions back")


def test_the_other_pods_are_named_of_which_the_kernel_killed_processes() -> None:
    """`relieved the node for 12s only` was all that was said of six pods that the kernel killed (world 07)."""
    kill = HistoryEvent(at="2026-01-01T00:00:40Z", kind=EventKind.KERNEL, pod="a/b", uid="b", text="")
    host = replace(kill, pod="", uid="", evidence={"where": "system.slice"})
    own = replace(kill, pod="default/hog-old", uid=incident().event.uid)
    found = replace(judged(Need.NEEDED, LEAK), after=(kill, own, host, kill))
    assert summary_text(found).endswith("; the kernel killed processes of system.slice, a/b afterwards")
    assert summary_text(replace(found, before=(own, kill), after=())).endswith("processes of a/b before")
    assert summary_text(replace(found, before=(kill,))).endswith("of a/b, system.slice before and afterwards")
    assert "the kernel" not in summary_text(replace(found, after=(own,)))


def test_pods_that_came_filled_the_node_where_nothing_that_was_there_grew() -> None:
    verdict = EvictionVerdict(need=Need.NEEDED, pod="default/hog-old", played=0)
    came = NewPods(before=7, over=30 * SECOND, held=2 * GI)
    found = replace(incident(), verdict=verdict, arrivals=came)
    assert filled_by_arrivals(found)
    assert not filled_by_arrivals(replace(found, arrivals=replace(came, held=GI // 2)))
    grew = replace(verdict, growers=(Grower(pod="default/web", rate=1),))
    assert not filled_by_arrivals(replace(found, verdict=grew))
    assert not filled_by_arrivals(replace(found, arrivals=NewPods()))


def test_the_pods_that_were_evicted_before_it_are_counted() -> None:
    """Five pods leaked, and of the last eviction it was said that two grew: three had been evicted for the same signal."""
    found = replace(judged(Need.NEEDED), before=())
    assert "minutes before" not in summary_text(found)
    other = replace(found.event, uid="other")
    assert summary_text(replace(found, before=(other,))).endswith("; 1 other pod was evicted in the minutes before")
    three = tuple(replace(other, uid=uid) for uid in ("a", "b", "c", "c"))
    assert "; 3 other pods were evicted in the minutes before" in summary_text(replace(found, before=three))
    disk = replace(other, evidence={"because": {"signal": "nodefs.available"}})
    for each in (found.event, replace(other, dry_run=True), replace(other, kind=EventKind.GONE), disk):
        assert "minutes before" not in summary_text(replace(found, before=(each,)))


def test_a_pod_that_the_same_growth_evicted_long_before_is_counted() -> None:
    """One pod was said to be evicted before, and a second one had been, eleven minutes before."""
    found = replace(judged(Need.NEEDED), before=())
    event = replace(found.event, uid="other", at="2025-12-31T23:45:00Z")
    grew = Earlier(event=event, missing=1, grower=found.event.pod, now=found.event.pod)
    assert summary_text(replace(found, earlier=(grew,))).endswith("; 1 other pod was evicted in the 16 minutes before")
    both = replace(found, earlier=(grew,), before=(event, replace(found.event, uid="third")))
    assert "; 2 other pods were evicted in the 16 minutes before" in summary_text(both)
    for unsure in (replace(grew, grower=""), replace(grew, grower="default/predecessor")):
        assert "before" not in summary_text(replace(found, earlier=(unsure,)))


def test_an_eviction_of_one_that_grew_is_not_called_needless_for_a_larger_pod() -> None:
    found = judged(Need.ANOTHER_POD, LEAK, OTHER)
    assert found.verdict is not None
    larger = replace(found, met=MetAfter(again=90.0), verdict=replace(found.verdict, fewest=("default/cache",)))
    assert "the eviction relieved the node for 1m28s only" in summary_text(larger)
    other = replace(larger, verdict=replace(found.verdict, fewest=("default/web",)))
    assert "the eviction was not needed" in summary_text(other)


def test_growth_that_ended_before_a_soft_eviction_is_told_with_its_end() -> None:
    """`grew by 34.5Mi a second` was said of a burst that had taken nothing for 20 s."""
    found = judged(Need.NEEDED, LEAK)
    because = {**found.event.evidence["because"], "threshold": {"gracePeriodNanoseconds": MINUTE}}
    flat = ((-40.0, 4 * GI), (-30.0, 3 * GI), (-20.0, 2 * GI), (-10.0, 2 * GI), (0.0, 2 * GI))
    event = replace(found.event, evidence={**found.event.evidence, "because": because})
    assert summary_text(replace(found, event=event, points=flat)).startswith(
        "default/hog-old grew until 20s before and went"
    )
    assert summary_text(replace(found, points=flat)).startswith("default/hog-old grew by "), "it went for the hard one"


def test_the_evicted_pod_is_named_among_those_that_grew() -> None:
    """It was "1 more pod", as if the evicted one had not grown."""
    pods = ("default/first", "default/second", "default/hog-old")
    growers = tuple(Grower(pod=each, rate=3 << 20) for each in pods)
    verdict = EvictionVerdict(need=Need.NEEDED, pod="default/hog-old", growers=growers, played=0)
    text = summary_text(replace(incident(), host_filled=False, verdict=verdict))
    assert text.startswith("default/first, default/hog-old and 1 more pod grew by 9Mi a second together, ")

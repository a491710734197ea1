"""Checks what a request of what the pod used, or of all pods of its owner, would have done: which pod goes then, if any."""

from dataclasses import replace

import pytest

from evictd.core.model.signal import Resource, Signal
from evictd.core.units.duration import MINUTE
from evictd.render.history.cause.recorded import IncidentRow
from evictd.render.history.history import EventKind
from evictd.render.incident.record.incident import Incident
from evictd.render.incident.record.verdict import EvictionVerdict, Grower, Need
from evictd.render.incident.remedy.avoidance import avoidance
from evictd.render.incident.remedy.priority_remedy import first_that_lasts
from evictd.render.incident.remedy.request_remedy import (
    first_too_little,
    grew_instead,
    higher_than_owner_text,
    in_its_place,
    no_pod_then,
    owner_request_text,
    request_avoidance,
    requested_with,
    resize_in_vain,
    resize_remedy,
    tenth_of_usage,
    why_the_same,
)
from tests.render.recorded_incident import incident
from tests.stories import GI


def test_the_raised_pods_request_what_they_use_and_the_others_what_they_did() -> None:
    found = incident()
    assert requested_with(found, lambda row: row.chosen) == (
        "the pods here would request 7Gi of the 8Gi of the node",
        False,
    )
    assert requested_with(found, lambda row: not row.protected)[1]
    assert requested_with(replace(found, signal=Signal.PID_AVAILABLE), lambda row: True) == ("", False)


def test_of_some_of_the_pods_it_is_not_said_that_all_fit() -> None:
    some = replace(incident(), pods=25)
    assert requested_with(some, lambda row: row.chosen) == ("", False)
    assert requested_with(some, lambda row: not row.protected)[1]


EVERY = "a request of what they use in all pods of ReplicaSet/hog"


def with_owner_request(other: str | None) -> Incident:
    """The recorded incident on a larger node: `default/web` is of the same owner, and with all its requests this pod goes."""
    found = replace(incident(), siblings=frozenset({"default/web"}), capacity=64 * GI, verdict=None)
    return replace(found, with_request="default/web", with_owner_request=other)


def third() -> str:
    """Another pod of the ranking."""
    return next(row.pod for row in with_owner_request(None).ranking if not row.chosen and row.pod != "default/web")


def test_the_pod_that_would_have_gone_is_named() -> None:
    """For two databases above their requests beside four log writers it was said only that the second would have gone."""
    found = with_owner_request(third())
    assert owner_request_text(found, Resource.MEMORY) == "", "it did not grow, so the node loses a pod all the same"
    assert any(each.startswith(f"{EVERY}: {third()} (") for each in avoidance(found).not_by)


@pytest.mark.parametrize("other", [None, "", "default/web", "default/unknown"])
def test_nothing_is_said_where_none_of_another_owner_goes(other: str | None) -> None:
    assert owner_request_text(with_owner_request(other), Resource.MEMORY) == ""


def test_nothing_is_said_of_a_pod_of_higher_priority_or_of_one_that_grows_past_its_request() -> None:
    found = with_owner_request(third())
    rows = tuple(replace(row, priority=1000) if row.pod == third() else row for row in found.ranking)
    assert owner_request_text(replace(found, ranking=rows), Resource.MEMORY) == ""
    assert higher_than_owner_text(found, Resource.MEMORY) == ""
    grown = Grower(pod=found.event.pod, rate=GI)
    verdict = EvictionVerdict(need=Need.NEEDED, pod=found.event.pod, growers=(grown,), played=1)
    assert owner_request_text(replace(found, verdict=verdict), Resource.MEMORY) == ""


def test_a_pod_of_higher_priority_that_goes_instead_of_all_of_them_is_named() -> None:
    """Of four workers another one was said to go with a request of 800Mi: in the template of all it spares each of them."""
    found = with_owner_request(third())
    rows = tuple(replace(row, priority=1000) if row.pod == third() else row for row in found.ranking)
    instead = (
        "default/web of the same owner would have gone in its place then; with that of all pods of ReplicaSet/hog, "
    )
    (told,) = (each for each in avoidance(replace(found, ranking=rows)).not_by if "of the same owner" in each)
    assert instead + third() in told
    assert ", whose priority 1000 is higher; computed from" in told
    verdict = EvictionVerdict(
        need=Need.ANOTHER_POD, pod=found.event.pod, growers=(Grower(pod=third(), rate=GI),), played=1
    )
    cause = replace(found, ranking=rows, verdict=verdict)
    assert owner_request_text(cause, Resource.MEMORY).endswith("priority 1000 is higher; it is the one that grew")
    assert higher_than_owner_text(cause, Resource.MEMORY) == ""


def test_of_pods_that_grew_it_is_said_which_one_goes_first_with_requests_of_all_of_them() -> None:
    """Of two databases the other one was said to go, as if one pod of an owner alone could request more."""
    grown = Grower(pod=incident().event.pod, rate=GI)
    verdict = EvictionVerdict(need=Need.NEEDED, pod=grown.pod, growers=(grown,), played=1)
    found = replace(with_owner_request(third()), verdict=verdict)
    (told,) = (each for each in avoidance(found).not_by if "request" in each)
    assert told.startswith(f"{EVERY}: {third()} (")
    assert (
        "would have gone in its place then; had they grown on, the node would have been short again; computed" in told
    )
    none = avoidance(replace(found, with_owner_request="")).not_by
    assert any("default/web of the same owner would have gone" in each for each in none)
    rows = tuple(replace(row, priority=1000) if row.pod == third() else row for row in found.ranking)
    (higher,) = (each for each in avoidance(replace(found, ranking=rows)).not_by if "of the same owner" in each)
    assert "whose priority 1000 is higher; computed from" in higher, "it is no advice, and still said to go"


def test_requests_that_do_not_fit_on_the_node_are_the_schedulers() -> None:
    text = owner_request_text(replace(with_owner_request(third()), capacity=8 * GI), Resource.MEMORY)
    assert (
        text
        == f"{EVERY}: the pods here would request 11Gi of the 8Gi of the node, so not all of them would be placed on it"
    )


MI = 1 << 20


def row(number: int, **changes: object) -> IncidentRow:
    plain = IncidentRow(
        number=number, pod=f"a/{number}", usage=310 * MI, request=300 * MI, priority=0, protected=False, chosen=False
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


def test_a_pod_behind_the_next_one_is_explained() -> None:
    """One pod was named the next, and another one was said to have gone in the place of the first (world 39)."""
    rows = (row(1, chosen=True), row(2), row(3), row(4, usage=None))
    assert in_its_place("a/2", rows, Resource.MEMORY) == "a/2 (310Mi)"
    passed = "a/3 (310Mi; a/2, which ranks before it, would have been passed over)"
    assert in_its_place("a/3", rows, Resource.MEMORY) == passed
    assert in_its_place("a/9", rows, Resource.MEMORY) == "a/9"
    for changes in ({"protected": True}, {"skipped": "InFlight"}):
        assert in_its_place("a/3", (rows[0], row(2, **changes), rows[2]), Resource.MEMORY) == "a/3 (310Mi)"


def test_the_pod_that_grew_would_have_gone_where_the_evicted_one_did_not_grow() -> None:
    web, own = Grower(pod="default/web", rate=9), Grower(pod="default/hog-old", rate=3)
    verdict = EvictionVerdict(need=Need.ANOTHER_POD, pod="default/hog-old", growers=(web,), played=0)
    found = replace(incident(), with_request="default/web", verdict=verdict)
    assert grew_instead(found)
    assert not grew_instead(replace(found, with_request="default/other"))
    assert not grew_instead(replace(found, verdict=replace(verdict, growers=(web, own))))
    done = replace(verdict, growers=(web, own), fewest=("default/web",))
    assert grew_instead(replace(found, verdict=done)), "the end of the one that grew more would have done"
    host = replace(verdict, growers=(Grower(pod="", rate=9),))
    assert not grew_instead(replace(found, with_request="", verdict=host))
    assert not grew_instead(replace(found, verdict=None))


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
    held = f"all pods above their requests hold {2 * len(others)}Gi"
    assert first_too_little(replace(found, verdict=verdict)) == (
        f"which is not enough: {held}, and other pods grow by 60Gi in a minute"
    )
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


def test_a_request_at_the_first_eviction_that_was_refused_names_its_time() -> None:
    """With what the pod held at the last of them another pod was left out that would have gone at the first."""
    found = incident()
    victim = found.victim
    assert victim is not None
    asked = replace(found.event, kind=EventKind.REQUESTED, at="2026-01-01T10:02:00Z", evidence={})
    found = replace(found, first_asked=asked, with_request="default/web", verdict=None)
    when = "at 10:02:00, when evictd asked to evict this pod"
    (said,) = request_avoidance(found, victim, Resource.MEMORY).not_by
    assert said.endswith(f": default/web would have gone in its place {when}")
    (none,) = request_avoidance(replace(found, with_request=""), victim, Resource.MEMORY).not_by
    assert none.endswith(f": evictd would have ended no pod {when}; what would have come then is not known")
    web = Grower(pod="default/web", rate=9)
    grew = EvictionVerdict(need=Need.ANOTHER_POD, pod="default/hog-old", growers=(web,), played=0)
    (by,) = request_avoidance(replace(found, verdict=grew), victim, Resource.MEMORY).by
    assert by.endswith(f"{when}; it is the one that grew")
    own = replace(grew, growers=(web, Grower(pod="default/hog-old", rate=9)))
    (again,) = request_avoidance(replace(found, verdict=own), victim, Resource.MEMORY).not_by
    assert again.endswith(f"{when}; had this pod grown on, the node would have been short again")


_NO_POD = "evictd would have ended no pod at that moment"


def test_a_pod_that_grows_passes_its_request() -> None:
    """A pause held while it was within its request, and it went 60 ms later (world 01)."""
    found = incident()
    assert no_pod_then(found, Resource.MEMORY) == f"{_NO_POD}; which one it would have ended later is not known"
    grower = Grower(pod=found.event.pod, rate=GI)
    verdict = EvictionVerdict(need=Need.NEEDED, pod=found.event.pod, growers=(grower,), played=5 * MINUTE)
    found = replace(found, verdict=verdict)
    assert no_pod_then(found, Resource.MEMORY) == f"{_NO_POD}; had it grown on, it would have gone all the same later"
    assert no_pod_then(replace(found, past_request=True), Resource.MEMORY) == (
        "it would have gone all the same, within a second, because it grew past that request at 1Gi a second"
    )


def other(name: str, usage: int, *, request: int = 0, priority: int = 0, skipped: str = "") -> IncidentRow:
    """A pod beside the evicted one."""
    return IncidentRow(
        number=0,
        pod=f"default/{name}",
        usage=usage,
        request=request,
        priority=priority,
        protected=False,
        chosen=False,
        skipped=skipped,
    )


def beside(*others: IncidentRow) -> Incident:
    """The recorded incident, in which 1.5Gi was missing and 85.3Mi a second was lost, beside these pods."""
    found = incident()
    rows = tuple(
        row if row.chosen else replace(row, request=1 << 40) for row in found.ranking if row.chosen or row.protected
    )
    return replace(found, ranking=(*rows, *others), pods=len(rows) + len(others))


def why(found: Incident) -> str:
    """Return the reason."""
    assert found.victim is not None
    return why_the_same(found, found.victim, Resource.MEMORY)


def test_the_reason_is_what_the_pods_that_rank_before_it_held() -> None:
    """The report had `because of what it holds`, although a pod without a request ranked before it."""
    assert why(beside(other("database", GI), other("web", GI // 4))) == (
        "the other pods above their requests held 1.25Gi together, less than the 1.5Gi that was missing"
    )


def test_the_growth_counts_that_comes_while_they_go() -> None:
    assert why(beside(other("database", 2 * GI))) == (
        "the other pods above their requests held 2Gi together, 512Mi more than was missing; "
        "that lasts less than 7 s at 85.3Mi a second, and an eviction may take 40 s"
    )


def test_the_time_that_counts_is_that_of_an_eviction_of_each() -> None:
    """`less than the 512Mi that the node needed for 80 s` stood in the report of a disk of 160Mi."""
    assert why(beside(other("database", 2 * GI), other("web", GI))).endswith(
        "; that lasts less than 19 s at 85.3Mi a second, and 2 evictions may take 80 s"
    )


def test_no_sum_is_named_that_is_not_known() -> None:
    found = beside(other("database", GI))
    for unknown in (replace(found, pods=30), replace(found, levels=())):
        assert why(unknown) == "the end of the other pods above their requests would not have been enough"


def test_no_sum_is_named_that_would_have_been_enough() -> None:
    assert why(beside(other("database", 7 * GI))) == (
        "the end of the other pods above their requests would not have been enough"
    )


def test_without_another_pod_above_its_request_it_is_first_by_priority() -> None:
    within = other("web", GI, request=2 * GI, priority=10)
    assert why(beside(within)) == "no other pod exceeded its request and none had a lower priority"


def test_a_request_with_room_is_tried_where_one_of_what_it_used_is_in_vain() -> None:
    """A request of what it used "would not have"; with a little more another pod went, played again."""
    found = replace(beside(other("web", GI, request=2 * GI)), with_request="default/hog-old")
    assert found.victim is not None

    def said(more: str | None) -> str:
        (text,) = request_avoidance(replace(found, with_more=more), found.victim, Resource.MEMORY).not_by  # type: ignore[arg-type]
        return text

    assert said("default/web").endswith("; with a tenth more, default/web (1Gi) would have gone in its place")
    assert said("").endswith("; with a tenth more, evictd would have ended no pod at that moment")
    assert "tenth" not in said("default/hog-old") + said(None)
    assert tenth_of_usage(found) == (found.victim.usage or 0) // 10 > 0
    assert tenth_of_usage(replace(found, ranking=())) == 0


def test_a_pod_that_is_never_evicted_counts_as_one_above_its_request() -> None:
    """`no other pod exceeded its request` was said beside a static pod that exceeded its own by 3.4Gi."""
    within, static = other("web", GI, request=2 * GI, priority=10), other("proxy", 4 * GI, request=GI)
    static = replace(static, protected=True)
    static_exceeds = f"{static.pod}, which is never evicted, exceeds its request by 3Gi"
    assert why(beside(within, static)) == (
        f"no other pod that may go exceeded its request ({static_exceeds}) and none had a lower priority"
    )


def test_pods_of_lower_priority_held_too_little() -> None:
    within = other("web", GI, request=2 * GI, priority=-10)
    assert why(beside(within)) == (
        "no other pod exceeded its request; those of lower priority held 1Gi together, less than the 1.5Gi that was missing"
    )


@pytest.mark.parametrize("skipped", ["InFlight", "Budget", "NotMeasured"])
def test_a_pod_that_could_not_go_is_no_alternative(skipped: str) -> None:
    """It was said of a pod with no other beside it that its priority was the reason."""
    assert why(beside(other("web", GI, skipped=skipped))) == "no other pod that could go held any of it"


FOUND = incident()

USED = max(row.usage or 0 for row in FOUND.ranking if row.chosen)

ASKING = replace(FOUND, asked=USED + GI, capacity=64 * GI)


def test_a_pod_that_asked_for_enough_gets_it_where_so_much_is_free() -> None:
    """Only a limit was advised to a pod that had asked for what it used."""
    (remedy,) = resize_remedy(ASKING)
    assert remedy.startswith(
        "if it needs 7Gi of memory, a new pod with that request in place of the resize: the scheduler"
    )
    assert remedy.endswith("its condition PodResizePending says why the kubelet did not grant it here")
    assert remedy in avoidance(ASKING).by
    assert resize_in_vain(ASKING) == ()


def test_a_node_that_is_too_small_for_it_is_named() -> None:
    (remedy,) = resize_remedy(replace(ASKING, capacity=7 * GI))
    assert remedy.endswith("of the 7Gi of this node, so the kubelet cannot grant it here")


def test_a_resize_to_less_than_it_used_is_in_vain() -> None:
    less = replace(FOUND, asked=USED - GI)
    assert resize_remedy(less) == ()
    assert resize_in_vain(less) == ("its resize to 5Gi of memory granted: it used 6Gi, which is more",)
    assert set(resize_in_vain(less)) <= set(avoidance(less).not_by)


@pytest.mark.parametrize("found", [FOUND, replace(ASKING, ranking=())], ids=["no resize", "no ranking"])
def test_else_nothing_is_said(found: Incident) -> None:
    assert (resize_remedy(found), resize_in_vain(found)) == ((), ())


def test_a_request_of_an_owner_with_several_pods_says_that_those_elsewhere_are_not_counted() -> None:
    """The journal has one node, and the advice was read as computed from all replicas."""
    found = with_owner_request(third())
    assert found.victim is not None
    alone = "; computed from the pods of this node alone: those of ReplicaSet/hog elsewhere would have that request too"
    said = request_avoidance(found, found.victim, Resource.MEMORY)
    assert said.not_by
    assert all(each.endswith(alone) for each in (said.by or said.not_by))
    one = request_avoidance(replace(found, siblings=frozenset(), of_owner=1), found.victim, Resource.MEMORY)
    assert not any(alone in each for each in (*one.by, *one.not_by))


def test_the_request_avoids_the_eviction_where_one_of_several_that_grew_goes() -> None:
    """Four workers burst together, and the request that keeps a database for good was said not to have avoided its end."""
    growers = (Grower(pod="default/web", rate=1 << 20), Grower(pod="default/api", rate=1 << 20))
    verdict = EvictionVerdict(need=Need.ANOTHER_POD, pod="default/hog-old", growers=growers, played=0)
    found = replace(incident(), host_filled=False, verdict=verdict, with_request="default/web")
    rows = [replace(row, request=GI) for row in found.ranking]
    web = next(row for row in rows if row.pod == "default/web")
    found = replace(found, ranking=(*rows, replace(web, pod="default/api", number=web.number + 1)))
    assert found.victim is not None
    (text,) = request_avoidance(found, found.victim, Resource.MEMORY).by
    assert "it is one of those that grew" in text

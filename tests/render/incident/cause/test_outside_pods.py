"""Checks when it is said how much memory belongs to no pod."""

from dataclasses import replace

import pytest

from evictd.core.model.signal import Signal
from evictd.core.units.duration import MINUTE
from evictd.render.history.history import EventKind, HistoryEvent
from evictd.render.incident.cause.outside_pods import outside_pods_text, reserve_text
from evictd.render.incident.record.grows_on import GrowsOn
from evictd.render.incident.record.incident import Incident
from evictd.render.incident.record.verdict import EvictionVerdict, Grower, Need
from evictd.render.incident.remedy.avoidance import avoidance
from evictd.render.incident.remedy.now import now_text
from tests.render.recorded_incident import incident
from tests.stories import GI

FITS = replace(incident(), host_filled=False, elsewhere=2 * GI)
"""The recorded incident, in which 1.5Gi was missing."""
OUTSIDE = replace(
    FITS, ranking=tuple(replace(row, request=0 if row.chosen else row.request + 4 * GI) for row in FITS.ranking)
)
"""The same with requests that leave less than 2Gi of the node's 8Gi."""


def test_what_belongs_to_no_pod_is_named_and_is_to_be_less() -> None:
    """A process of the host held 1000Mi, without which no threshold was met, and nothing was said of it."""
    assert outside_pods_text(OUTSIDE) == "2Gi of what is used belongs to no pod"
    still = EvictionVerdict(need=Need.ANOTHER_POD, pod="default/hog-old", played=MINUTE)
    alone = replace(OUTSIDE, ranking=(), verdict=still)
    assert avoidance(alone).by == (
        "less use outside pods: by processes of the host, or by the kernel itself; 2Gi of what is used belongs to no pod",
    )
    assert not any("outside pods" in each for each in avoidance(OUTSIDE).by), "a limit of the pod is the better advice"
    for unknown in (replace(alone, verdict=None), replace(alone, pods_filled=True)):
        assert not avoidance(unknown).by, "a pod may have grown, which had made the node short later"


def test_what_no_process_can_allocate_is_named_as_such() -> None:
    """113Mi that no process can allocate were said to belong to no pod, as if a process of the host held them (world 38)."""
    text = "2Gi of what is used belongs to no pod, and no process can allocate"
    assert outside_pods_text(replace(OUTSIDE, unallocatable=2 * GI)) == f"{text} it"
    assert outside_pods_text(replace(OUTSIDE, unallocatable=GI)) == f"{text} 1Gi of it"


@pytest.mark.parametrize(
    "found",
    [
        replace(OUTSIDE, elsewhere=GI),
        replace(OUTSIDE, elsewhere=None),
        replace(OUTSIDE, host_filled=True),
        replace(OUTSIDE, capacity=64 * GI),
        replace(OUTSIDE, signal=Signal.NODEFS_AVAILABLE),
    ],
    ids=["less than was missing", "not known", "said already", "a small part", "of a disk"],
)
def test_else_it_is_not_said(found: Incident) -> None:
    assert outside_pods_text(found) == reserve_text(found) == ""


def test_what_belongs_to_no_pod_is_to_be_reserved() -> None:
    """The 2.5Gi that the host held were named, and in no advice once the host grew no more."""
    reserve = "let systemReserved and kubeReserved of the kubelet cover the 2Gi that belongs to no pod"
    assert reserve_text(OUTSIDE) == reserve
    assert now_text(OUTSIDE).endswith(reserve)


def test_nothing_is_to_be_reserved_where_it_fits_beside_the_requests() -> None:
    """A pod of 128Mi leaked 2.4Gi, and a reservation was the only advice, with which each pod is placed here all the same."""
    assert outside_pods_text(FITS)
    assert reserve_text(FITS) == ""
    assert reserve_text(replace(FITS, pods=len(FITS.ranking) + 1)), "the journal has not the requests of all"


def test_nothing_is_to_be_reserved_for_the_leak_of_one_pod() -> None:
    """Beside "mend or limit" of the only pod that grew it was said to let systemReserved cover what the host held."""
    pod = OUTSIDE.event.pod
    verdict = EvictionVerdict(
        need=Need.NEEDED, pod=pod, fewest=(pod,), growers=(Grower(pod=pod, rate=1),), played=MINUTE
    )
    found = replace(OUTSIDE, verdict=verdict)
    assert outside_pods_text(found)
    assert reserve_text(found) == ""
    within = tuple(replace(row, request=row.usage or 0) for row in found.ranking)
    assert reserve_text(replace(found, ranking=within)), "it grew within its request"
    two = replace(verdict, growers=(*verdict.growers, Grower(pod="", rate=1)))
    assert reserve_text(replace(found, verdict=two)), "it made no more than half of the growth"


def test_what_still_grows_outside_pods_is_not_to_be_reserved() -> None:
    """Beside "what belongs to no pod still grows" it was said to let systemReserved cover what that held."""
    on = GrowsOn(growers=(Grower(pod="", rate=1),), short_at="00:09:00")
    assert reserve_text(replace(OUTSIDE, grows_on=on)) == ""


def test_nothing_is_to_be_reserved_where_only_the_minimum_reclaim_was_not_reached() -> None:
    """A reserve was the only advice of `now`, and with it the same pods went: a smaller minimum reclaim helps."""
    found = replace(OUTSIDE, available=GI, levels=(("hard", GI // 2),), min_reclaim=4 * GI, elsewhere=5 * GI)
    assert found.kept_by_min_reclaim
    assert outside_pods_text(found)
    assert reserve_text(found) == ""


def test_nothing_is_to_be_reserved_for_a_pod_that_filled_the_memory_before_its_growth_ended() -> None:
    """Beside "mend or limit" of a pod whose growth had ended it was said to reserve, with which the same pod went."""
    pod = OUTSIDE.event.pod
    verdict = EvictionVerdict(need=Need.NEEDED, pod=pod, fewest=(pod,), played=MINUTE)
    found = replace(OUTSIDE, verdict=verdict, pods_filled=True, main_grower=pod)
    assert found.own_cause
    assert reserve_text(found) == ""
    assert reserve_text(replace(found, pods_filled=False))


def test_what_the_host_took_is_to_be_reserved_where_it_grows_no_more() -> None:
    """`look at the host` was all that was said of a daemon that had taken what it needs, and the next pods were placed here."""
    found = replace(OUTSIDE, host_filled=True, quiet=True)
    reserve = (
        "if the host has to use so much, let systemReserved and kubeReserved of the kubelet cover at least the 2Gi"
    )
    assert reserve_text(found).startswith(reserve)
    assert reserve in now_text(found)
    assert reserve_text(replace(found, quiet=False)) == "", "no reservation is enough for a leak"
    killed = HistoryEvent(at=found.event.at, kind=EventKind.KERNEL, pod="agent", uid="", signal="", text="")
    assert reserve_text(replace(found, after=(killed,))) == "", "the kernel ended what grew"
    assert reserve_text(replace(found, host_filled=True, ranking=FITS.ranking)) == ""

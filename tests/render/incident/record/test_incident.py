"""What follows from an incident that is known."""

from dataclasses import replace

import pytest

from evictd.render.incident.record.aftermath import MetAfter
from evictd.render.incident.record.verdict import EvictionVerdict, Need
from evictd.render.incident.relief.relief import relief_lines
from tests.daemon.world import GI
from tests.render.recorded_incident import incident


def test_what_is_missing_counts_to_the_highest_limit_or_the_minimum_reclaim() -> None:
    """`1.17Gi left, threshold 1Gi` stood there without a word of the minimum reclaim."""
    found = incident()
    assert found.short_of == ("soft", 2 * GI, 3 * GI // 2)
    assert not found.kept_by_min_reclaim
    kept = replace(found, available=9 * GI // 4, min_reclaim=GI)
    assert kept.short_of == ("minimum reclaim of the soft", 3 * GI, 3 * GI // 4)
    assert kept.kept_by_min_reclaim
    assert replace(kept, min_reclaim=0).short_of is None


def test_what_came_back_is_judged_only_once_it_was_read() -> None:
    """Seconds after an eviction `too little` was said of 68Gi: no reading had been made since."""
    short = replace(
        incident(), points=((0.0, GI // 2), (2.0, GI // 2)), clear=None, known_for=2.5, met=MetAfter(still=2.0)
    )
    assert not short.settled
    lines = list(relief_lines(short))
    assert "nothing came back up to the journal's last record, 2s later" in lines
    assert not any("stayed met" in each for each in lines)
    later = replace(short, known_for=20.0)
    assert later.settled
    assert "nothing came back" in list(relief_lines(later))
    open_end = replace(later, met=MetAfter(still=11.0))
    last = "a threshold of memory.available was still met at the journal's last record, 11s later"
    assert last in list(relief_lines(open_end)), "`stayed met for 11s` reads as if it had ended then"
    ended = replace(open_end, clear=70.0, met=MetAfter(still=70.0))
    assert "a threshold of memory.available stayed met for 1m10s after its eviction" in list(relief_lines(ended))
    assert replace(short, next_eviction=2.0).settled, "another pod was chosen, which waits for what comes back"
    assert not replace(later, gone_after=None).settled


def test_what_evictd_measured_came_back_where_a_reading_has_less() -> None:
    found = replace(incident(), points=((-10.0, 0), (40.0, 2 * GI)), available=0, clear=None, freed=3 * GI)
    assert found.came_back == 3 * GI
    assert replace(found, freed=GI).came_back == 2 * GI


def test_a_full_disk_was_full_since_its_first_reading_without_anything_left() -> None:
    """The headline left out that the disk had been full for 90 s while evictd paused."""
    found = replace(incident(), available=0, points=((-120.0, 5), (-90.0, 0), (-30.0, 0), (0.0, 0), (1.0, 7)))
    assert found.full_since == 90.0
    assert replace(found, available=5).full_since is None
    assert replace(found, points=((-90.0, 0), (0.0, 5))).full_since is None


def test_the_end_of_pods_is_needed_for_a_time_only_where_no_pod_fills_it() -> None:
    """A program read `Needed` where the account said `for a time only`."""
    verdict = EvictionVerdict(need=Need.NEEDED, pod="default/hog-old", played=0)
    found = replace(incident(), verdict=verdict, host_filled=True, met=MetAfter(again=60.0))
    assert found.need is Need.FOR_A_TIME
    assert replace(found, host_filled=False).need is Need.NEEDED
    assert replace(found, verdict=None).need is None


def test_the_rate_is_that_of_a_burst_which_began_within_the_minute() -> None:
    """A pod that took 200Mi a second for 27 s was said to grow by 62Mi a second."""
    flat = ((-80.0, 6 * GI), (-50.0, 6 * GI), (-27.0, 6 * GI))
    burst = (*flat, (-15.0, 6 * GI - 12 * GI // 5), (0.0, 6 * GI - 27 * GI // 5))
    assert replace(incident(), points=burst).rate == pytest.approx(GI / 5, rel=0.02)


def test_a_pod_that_was_not_measured_held_what_was_missing_where_its_end_alone_can_have_relieved_the_node() -> None:
    no_pod = EvictionVerdict(need=Need.NO_POD_HELPS, pod="default/hog-old", played=0)
    found = replace(incident(), measured=False, verdict=no_pod)
    assert found.held_unmeasured
    assert not replace(found, measured=True).held_unmeasured
    assert not replace(found, known_for=10).held_unmeasured, "too short a time to say so"
    assert not replace(found, verdict=replace(no_pod, need=Need.ANOTHER_POD)).held_unmeasured


def test_it_exceeded_its_request_as_measured_before() -> None:
    no_pod = EvictionVerdict(need=Need.NO_POD_HELPS, pod="default/hog-old", played=0)
    found = replace(incident(), measured=False, verdict=no_pod)
    assert found.exceeded_unmeasured
    assert not replace(found, measured=True).exceeded_unmeasured
    within = tuple(replace(row, request=1 << 40) for row in found.ranking)
    assert not replace(found, ranking=within).exceeded_unmeasured

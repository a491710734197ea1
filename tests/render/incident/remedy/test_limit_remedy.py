"""Checks which limit would have ended a pod before the node was short, and how that limit comes about."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from evictd.commands.decided.incident_decided import read_incident
from evictd.commands.played.world_journal import write_world_journal
from evictd.core.model.decision import EvictionReason, begun_evictions
from evictd.core.model.signal import Resource
from evictd.core.units.duration import MINUTE
from evictd.core.units.quantity import parse_quantity
from evictd.render.incident.record.earlier import Earlier
from evictd.render.incident.record.incident import Incident
from evictd.render.incident.record.verdict import EvictionVerdict, Grower, Need
from evictd.render.incident.remedy.avoidance import avoidance
from evictd.render.incident.remedy.avoided import Avoidance
from evictd.render.incident.remedy.limit_remedy import grower_limit, limit_sum, limit_then
from evictd.render.incident.remedy.shared_limits import SharedLimits
from evictd.render.text import rounded_below
from evictd.world.behaviours import Hold, Usage
from evictd.world.loop import play
from evictd.world.model import Disk, NodeSpec, World, WorldPod
from tests.daemon.world import NOW
from tests.playbook import config
from tests.render.recorded_incident import incident
from tests.world.worlds import GI, MI, hog, holder, world


def test_the_sum_names_what_was_held_what_was_missing_and_on_a_disk_what_grows_until_limits_are_checked() -> None:
    """A limit of 23.9Mi was proposed to a pod that held 83Mi; the next run of the same demo proposed 16.8Mi."""
    assert (
        limit_sum(83 * MI, MI, 0, Resource.MEMORY)
        == "(83Mi that it held, less 1Mi that was missing, and 0.5% for rounding)"
    )
    assert limit_sum(83 * MI, MI, 68 * MI, Resource.EPHEMERAL_STORAGE) == (
        "(83Mi that it held, less 1Mi that was missing, and 68Mi that it takes in the 10 s between two checks of limits, "
        "and 0.5% for rounding)"
    )


def test_the_sum_adds_up_where_a_byte_was_missing() -> None:
    """The sum "5.5Gi less 1" was to be 5.47Gi: neither the unit nor the rounding was named."""
    text = limit_sum(5632 * MI, 1, 0, Resource.MEMORY)
    assert text == "(5.5Gi that it held, less 0.5% for rounding)"
    assert 100 * rounded_below(5632 * MI) // (5632 * MI) == 99


POD = "default/hog-old"


def long_after(**changes: object) -> Incident:
    """The recorded incident, an hour after the growth of the same pod evicted another one."""
    recorded = replace(incident(), host_filled=False)
    event = replace(recorded.event, pod="batch/nightly", uid="nightly", at="2025-12-31T23:00:30Z")
    before = Earlier(event=event, missing=GI // 2, grower=POD, now=POD, held={POD: 3 * GI})
    return replace(recorded, earlier=(replace(before, **changes),))  # type: ignore[arg-type]


def test_the_limit_is_what_spares_the_first_pod_that_went() -> None:
    """A leak of 3Mi a second was given a limit of 11.5Gi, with which two other pods go 20 minutes before it as they did."""
    limit, *_ = avoidance(long_after()).by
    assert limit.startswith("if it grew, a limit of at most 2.49Gi of memory: ")
    assert (
        "(3Gi that it held when batch/nightly was evicted at 2025-12-31T23:00:30Z, less 512Mi that was missing, "
        "and 0.5% for rounding)"
    ) in limit


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            {"grower": ""},
            "3Gi that it held when batch/nightly was evicted at 2025-12-31T23:00:30Z, perhaps for the same growth, ",
        ),
        ({"grower": "default/hog-first"}, "3Gi that default/hog-first held when batch/nightly was evicted at "),
    ],
    ids=["not known what grew", "a pod in whose place it came"],
)
def test_what_is_less_sure_is_said(changes: dict[str, object], says: str) -> None:
    assert says in avoidance(long_after(**changes)).by[0]


def test_the_limit_stands_that_is_lower_already_or_of_which_nothing_is_left() -> None:
    assert limit_then(long_after(), (POD,), 2 * GI, 0) is None
    assert limit_then(long_after(missing=3 * GI), (POD,), 4 * GI, 0) is None
    assert limit_then(long_after(), ("default/web",), 4 * GI, 0) is None
    swapped = limit_then(replace(long_after(), swapped=GI), (POD,), 4 * GI, 10 * MI)
    assert swapped is not None
    assert swapped.enough == 3 * GI // 2 - 10 * MI
    assert "1Gi that may have been in swap, less 512Mi" in swapped.how


def test_a_pod_that_went_for_the_growth_of_another_one_names_its_limit() -> None:
    web = Grower(pod="default/web", rate=85 << 20)
    verdict = EvictionVerdict(need=Need.ANOTHER_POD, pod=POD, growers=(web,), played=0)
    found = replace(incident(), host_filled=False, verdict=verdict)
    said = "a limit of at most 3.48Gi of memory for it would have been enough"
    assert grower_limit(found, web, SharedLimits(), Resource.MEMORY) == Avoidance(by=(said,))
    assert avoidance(found).by[0].endswith(said)
    for other in (
        replace(found, host_filled=True),
        replace(found, verdict=None),
        replace(found, verdict=replace(verdict, growers=(web, Grower(pod="", rate=80 << 20)))),
        replace(found, available=None),
    ):
        assert grower_limit(other, web, SharedLimits(), Resource.MEMORY) == Avoidance()
    assert grower_limit(found, replace(web, rate=20 << 20), SharedLimits(), Resource.MEMORY) == Avoidance()


def test_a_limit_of_the_faster_of_two_leaks_is_not_enough(tmp_path: Path) -> None:
    """A limit of the faster one was said to be enough: with it the slower one was evicted all the same, four minutes later."""
    fast = hog(rate=6 * MI, name="fast", memory="1Gi", priority=100)
    slow = hog(Hold(of=Usage.MEMORY, amount=900 * MI), rate=5 * MI, name="slow", memory="1Gi")
    leaks = world(fast, slow, memory=8 * GI, duration=20 * MINUTE)
    played = play(leaks, config(hard={"memory.available": "500Mi"}))
    found = avoidance(read_incident([write_world_journal(played, tmp_path, end=NOW)], "slow"))
    assert not any("enough" in each for each in found.by)
    assert found.by[0] == (
        "less growth of default/fast and default/slow: they took 11Mi a second together in the minute before"
    )
    grows_on = "it leaves no room for more of that growth; a lower limit does"
    assert any(
        re.fullmatch(
            rf"a limit of \S+ of memory for default/fast alone: default/slow grew as well, and {grows_on}", each
        )
        for each in found.not_by
    )


def test_a_limit_of_one_of_many_pods_that_grew_alike_is_not_enough(tmp_path: Path) -> None:
    """Of twelve pods of a job each made less than a tenth of the growth, so a limit of one alone was said to avoid it."""
    jobs = (hog(rate=100 * MI, name=f"job-{each}", memory="128Mi", owner="Job/job") for each in range(12))
    played = play(world(*jobs, memory=8 * GI, duration=MINUTE), config(hard={"memory.available": "500Mi"}))
    journal = write_world_journal(played, tmp_path, end=NOW)
    first, second = (avoidance(read_incident([journal], f"default/job-{each}")) for each in (0, 1))
    assert all(any(" for this pod alone: " in each for each in said.not_by) for said in (first, second))
    (limits,) = (each for each in first.by if "limit" in each)
    assert re.match(r"limits of memory of at most \S+ of each pod of Job/job: the kernel", limits)
    assert not any("limit" in each for each in second.by), "the sum would have no part for the pod that went before"


def with_limit(spec: WorldPod, of: str, amount: str) -> WorldPod:
    (container,) = spec.pod.containers
    container = replace(container, limits={**container.limits, of: parse_quantity(amount)})
    return replace(spec, pod=replace(spec.pod, containers=(container,)))


def test_a_limit_of_the_main_grower_of_a_disk_is_enough_for_as_long_as_what_it_frees(tmp_path: Path) -> None:
    """Of two growers 28Gi together was proposed, and 23Gi and 5Gi cost the other one; 23.6Gi alone, called in vain, does not."""
    main = hog(rate=20 * MI, of=Usage.LAYER, name="runner")
    beside = hog(rate=3 * MI, of=Usage.LAYER, name="cache", storage="5Gi")
    node, thresholds = NodeSpec(memory=4 * GI, nodefs=Disk(capacity=40 * GI)), config(hard={"nodefs.available": "10%"})
    disk = world(main, beside, node=node, duration=40 * MINUTE)
    found = avoidance(read_incident([write_world_journal(play(disk, thresholds), tmp_path, end=NOW)], "runner"))
    (limit,) = (each for each in found.by if "limit" in each)
    assert not any("limit" in each for each in found.not_by)
    lasts = re.fullmatch(
        r"a limit of at most (\S+) of ephemeral-storage: it would have been evicted for that, .*; default/cache grew as well, "
        r"and what that frees lasts (\S+)",
        limit,
    )
    assert lasts is not None, limit
    limited = replace(disk, pods=(with_limit(main, "ephemeral-storage", lasts[1]), beside), duration=90 * MINUTE)
    decided = [each for cycle in play(limited, thresholds).cycles for each in begun_evictions(cycle.step.decisions)]
    assert {(each.pod.full_name, each.because.reason) for each in decided} == {
        ("default/runner", EvictionReason.POD_LIMIT)
    }


def test_limits_of_two_pods_that_grew_alike_hold_where_they_are_played(tmp_path: Path) -> None:
    """Only the sum of the limits was named, and a split of it evicted a pod within its request."""
    first = hog(rate=5 * MI, name="first", memory="1Gi")
    second = hog(rate=5 * MI, name="second", memory="1Gi")
    leaks, thresholds = (
        world(first, second, memory=8 * GI, duration=30 * MINUTE),
        config(hard={"memory.available": "500Mi"}),
    )
    found = avoidance(read_incident([write_world_journal(play(leaks, thresholds), tmp_path, end=NOW)], "first"))
    (limits,) = (each for each in found.by if each.startswith("limits of memory"))
    amounts = {pod: amount for amount, pod in re.findall(r"(\S+) of default/(first|second)", limits)}
    limited = tuple(with_limit(each, "memory", amounts[each.pod.name]) for each in leaks.pods)
    run = play(replace(leaks, pods=limited), thresholds)
    assert not [each for cycle in run.cycles for each in begun_evictions(cycle.step.decisions)]


def proposed_for_api(of: World, journal: Path) -> str:
    """The limit that is proposed for a pod where the hard threshold is 500Mi."""
    played = play(of, config(hard={"memory.available": "500Mi"}))
    found = read_incident([write_world_journal(played, journal, end=NOW)], "api")
    return next(each for each in avoidance(found).by if "limit of at most" in each)


def test_a_pod_whose_own_growth_evicted_it_before_lowers_no_limit(tmp_path: Path) -> None:
    """The second of two leaks was given a limit of 1.6Gi: what it held less what the first one had held."""
    fast, slow = hog(rate=40 * MI, name="fast", memory="1Gi"), hog(rate=8 * MI, name="api", memory="1Gi")
    leaks = world(fast, slow, memory=8 * GI, duration=30 * MINUTE)
    assert proposed_for_api(leaks, tmp_path).startswith("a limit of at most 7.47Gi of memory: ")


def test_a_pod_that_the_same_growth_evicted_before_lowers_it(tmp_path: Path) -> None:
    """A batch job of low priority went before the leak; a limit of what the leak held at last lets it go again."""
    leak = hog(rate=8 * MI, name="api", memory="1Gi")
    job = holder("nightly", 1500 * MI, Usage.MEMORY, priority=-10, memory="512Mi")
    rest = holder("rest", 1900 * MI, Usage.MEMORY, memory="2Gi")
    proposed = proposed_for_api(world(leak, job, rest, memory=8 * GI, duration=15 * MINUTE), tmp_path)
    assert "that it held when default/nightly was evicted at " in proposed
    assert proposed.startswith("a limit of at most 4.17Gi of memory: ")

"""Sentences about the place of an active pod in the order of eviction."""

from dataclasses import replace

from evictd.core.model.decision import EvictPod
from evictd.core.model.finding import SkipReason
from evictd.core.units.duration import MINUTE
from evictd.daemon.telemetry.snapshot import Snapshot
from evictd.daemon.telemetry.statusz.status_page import snapshot_view
from evictd.render.deciding import PASSED_OVER
from evictd.render.history.pod.standing import standing_lines
from evictd.render.history.pod.why import PodWhy
from evictd.render.node_view import explanation_document
from evictd.world.behaviours import Grow, Hold, Usage
from evictd.world.loop import play
from evictd.world.model import WorldPod
from tests.daemon.status import status_of
from tests.daemon.world import GI, HOG, NOW, observe, pod, snapshot, uses
from tests.playbook import config
from tests.render.history.test_why import ask, text
from tests.render.shown_nodes import rehearsed
from tests.render.snapshots import incident_snapshot, snapshot_at
from tests.world.worlds import world


def of_snapshot(seen: Snapshot, pod: str) -> str:
    """What is said of a pod of a played world."""
    explained = explanation_document(snapshot_view(seen), rows=None)
    return text(PodWhy(pod=pod, explained=explained, status=status_of(seen, seen.at)))


def test_a_pod_that_stays_says_how_far_it_is_from_an_eviction_and_what_would_move_it() -> None:
    said = text(ask("default/web"))
    assert "memory.available: place 2 of 2" in said
    assert "memory.available would have to fall by 2Gi to its soft threshold 2Gi" in said
    assert "default/hog would have to go first" in said
    assert "the next" not in said
    assert "to move back" not in said, "it is the last that may go: the page counts no protected pod"


def test_a_priority_that_moves_a_pod_back_is_above_that_of_the_pod_after_it() -> None:
    """A priority above its own of 0 was proposed beside a pod of 100, and to the last of the order."""
    late = pod("late", priority=100)
    seen = observe(4 * GI, pods=(HOG, late))
    seen = replace(seen, pod_stats={**seen.pod_stats, late.uid: uses(late, 2 * GI)})
    held = replace(snapshot(4 * GI), observation=seen)
    why = PodWhy(
        pod="default/hog", explained=explanation_document(snapshot_view(held), rows=None), status=status_of(held, NOW)
    )
    assert "or a priority above 100" in text(why)
    assert "or a priority" not in text(replace(why, pod="default/late"))


def test_a_pod_whose_hostpath_volume_is_not_measured_may_be_the_cause() -> None:
    """It `uses and requests none`, and nothing more was said of the pod that filled the disk."""
    near = incident_snapshot("02-host-path-writer", 60)
    cause = "it may be the cause: measure the hostPath volumes of default/writer with `du -xsh`: if they fill the disk"
    assert cause in of_snapshot(near, "default/writer")
    assert "it may be the cause" not in of_snapshot(near, "default/web-0")


def test_a_request_does_not_help_the_next_pod_where_those_before_it_would_free_too_little() -> None:
    """More of a request was proposed, or a priority: with either it went all the same."""
    small = WorldPod(pod=pod("small"), behaviours=(Hold(of=Usage.MEMORY, amount=GI // 8),))
    last = WorldPod(pod=pod("last", priority=200), behaviours=(Hold(of=Usage.MEMORY, amount=GI // 8),))
    large = WorldPod(pod=pod("large", priority=100), behaviours=(Grow(of=Usage.MEMORY, rate=GI // 100),))
    of = world(small, large, last, duration=10 * MINUTE)
    said = of_snapshot(snapshot_at(play(of, config(hard={"memory.available": "500Mi"})), 300), "default/large")
    assert "the end of default/small (128Mi), which ranks before it, would free too little, or not for long" in said
    assert "to stay: less usage; a request or priority does not help while those before it free too little" in said
    assert "to move back" not in said


def test_the_next_pod_needs_no_other_to_go_first() -> None:
    assert "would have to go first" not in text(ask("default/hog"))
    assert ask("default/hog").places[0].is_next


def test_the_pod_that_goes_first_because_those_before_it_are_passed_over_says_so() -> None:
    """The last of seven by priority, named by `status` as the next, was only told its place and its priority."""
    idle = tuple(pod(f"idle-{number}") for number in range(3))
    last = pod("last", request=7 * GI, priority=1000)
    late = pod("late", priority=2000)
    seen = observe(4 * GI, pods=(*idle, last, late))
    used = {each.uid: uses(each, 0) for each in (*idle, late)}
    seen = replace(seen, pod_stats={**seen.pod_stats, **used, last.uid: uses(last, 4 * GI)})
    said = of_snapshot(replace(snapshot(4 * GI), observation=seen), "default/last")
    passed = (
        "default/idle-2 (0) and 2 other pods, which rank before it, are passed over: as far as they were measured they "
    )
    assert f"memory.available: place 4 of 5, the first that may go; {passed}use none of what is short\n" in said
    assert "to stay: less usage; no request or priority helps, because no other pod would go instead now\n" in said
    assert "move back" not in said


def test_a_dry_run_evicts_no_pod_and_reports_no_condition() -> None:
    """It told what the pod's eviction needs, and how long the condition stays, as of a daemon that acts."""
    found = ask("default/web", GI // 2)
    said = text(replace(found, status={**(found.status or {}), "dryRun": True}))
    assert "the daemon is in a dry run: it evicts no pod" in said
    assert "MemoryPressure would be reported for at least 5m0s" in said
    assert "dry run" not in text(found)


def test_during_a_pause_a_pod_that_is_passed_over_is_not_said_to_go_first() -> None:
    """The first in the order was said to go before the pod that goes when the pause ends; its hostPath volume is not measured."""
    seen = incident_snapshot("02-host-path-writer", 500)
    writer, web = of_snapshot(seen, "default/writer"), of_snapshot(seen, "default/web-2")
    assert (
        "passed over: as far as it was measured it uses none of what is short (hostPath volumes are not measured)"
        in writer
    )
    assert "to be evicted: default/web-2 would have to go first, or be skipped\n" in writer
    assert "evictions pause; then default/web-2 would be evicted if the threshold is still met\n" in web
    assert "default/writer would have to go first" not in web
    assert "is already below" not in web


def test_beside_a_signal_that_is_near_or_met_the_idle_ones_share_a_line() -> None:
    """Each idle signal told how far it would have to fall, and a derived one repeated its source."""
    for seconds, repeats in ((500, "already below"), (300, "or containerfs.available would have")):
        said = of_snapshot(incident_snapshot("02-host-path-writer", seconds), "default/web-2")
        assert "far from every threshold: nodefs.inodesFree, containerfs.inodesFree\n" in said
        assert "inodesFree would have to fall" not in said
        assert repeats not in said
    assert "far from" not in of_snapshot(incident_snapshot("02-host-path-writer", 1), "default/web-2")


def test_of_two_thresholds_that_are_met_the_hard_one_is_named() -> None:
    """Below both only the soft one was named, for which the pod would have had a grace period."""
    seen = rehearsed()
    assert "to be evicted: memory.available is already below its hard threshold 1Gi\n" in of_snapshot(
        seen, "default/hog"
    )


def test_below_a_threshold_a_pod_stays_until_the_pods_are_measured() -> None:
    """It was said to be below the hard threshold, and not why it still stayed."""
    said = of_snapshot(incident_snapshot("12-container-log", 466), "default/chatty")
    assert "to be evicted: nodefs.available is already below its hard threshold 10Gi\n" in said
    assert "  evictd decides once the pods are measured (in 26s at most)\n" in said


def test_below_a_threshold_a_reclaim_that_has_begun_comes_before_the_pod() -> None:
    """It was said to be below the hard threshold, and not that evictd was removing unused images first."""
    seen = incident_snapshot("12-container-log", 466)
    status = status_of(seen, seen.at)
    explained = explanation_document(snapshot_view(seen), rows=None)
    why, said = (
        PodWhy(pod="default/chatty", explained=explained),
        "  evictd removes what no pod needs first; that may be enough",
    )
    for entry in status["signals"]:
        entry["measuresForSeconds"] = None
        for each in entry["thresholds"]:
            each.update(met=entry["signal"] == "nodefs.available", graceLeftSeconds=0.0)
    for phase, first in (("Reclaiming", True), ("Watching", False)):
        status["phase"] = {"name": phase, "endsInSeconds": None}
        assert (said in standing_lines(why.places, status)) == first
    status.update(dryRun=True, phase={"name": "Reclaiming", "endsInSeconds": None})
    assert said.replace("removes", "would remove") in standing_lines(why.places, status)


def test_a_pod_that_goes_instead_if_it_grows_on_stands_beside_those_before_it() -> None:
    """Two pods were said to go before a pod that grew past them until the threshold, and was the one evicted."""
    old = WorldPod(pod=pod("old", request=GI // 10), behaviours=(Hold(of=Usage.MEMORY, amount=3 * GI // 2),))
    grows = WorldPod(pod=pod("grows", request=GI), behaviours=(Grow(of=Usage.MEMORY, rate=10 << 20),))
    run = play(world(old, grows, memory=8 * GI, duration=12 * MINUTE), config(hard={"memory.available": "500Mi"}))
    seen = snapshot_at(run, 90)
    instead = "; at the threshold default/grows goes instead if it grows on\n"
    assert f"by the order of now default/old would have to go first, or be skipped{instead}" in of_snapshot(
        seen, "default/grows"
    )
    assert f" to its hard threshold 500Mi{instead}" in of_snapshot(seen, "default/old")
    chosen = [each.pod.name for cycle in run.cycles for each in cycle.step.decisions if isinstance(each, EvictPod)]
    assert chosen[0] == "grows"


def test_no_priority_is_proposed_to_a_pod_that_is_passed_over_at_each_place() -> None:
    """A priority was proposed to a pod whose end would free too little: it went first by rank, and was passed over."""
    seen = incident_snapshot("02-host-path-writer", 500)
    place = PodWhy(pod="default/writer", explained=explanation_document(snapshot_view(seen), rows=None)).places[0]
    status = status_of(seen, seen.at)
    passed = PASSED_OVER[SkipReason.UNNECESSARY], PASSED_OVER[SkipReason.BUDGET]
    few, held = (
        "\n".join(standing_lines((replace(place, row={**place.row, "usage": GI, "passedOver": why}),), status))
        for why in passed
    )
    assert "passed over: its end would free too little, or not for long" in few
    assert "move back" not in few
    assert "to move back in the order: " in held


def test_less_usage_is_no_advice_to_a_pod_that_uses_nothing() -> None:
    """`to move back in the order: a priority above 0, or less usage` stood below `pods hold nothing`."""
    seen = incident_snapshot("02-host-path-writer", 500)
    place = PodWhy(pod="default/writer", explained=explanation_document(snapshot_view(seen), rows=None)).places[0]
    status = status_of(seen, seen.at)
    some, none = (
        "\n".join(standing_lines((replace(place, row={**place.row, "usage": usage, "passedOver": ""}),), status))
        for usage in (GI, 0)
    )
    assert "move back" in some
    assert "move back" not in none

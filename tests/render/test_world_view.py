"""Checks the timeline, the conclusion and the documents of a world."""

import io
import re
from dataclasses import replace

from evictd.commands.source import own_config, read_story
from evictd.core.model.config import Policy
from evictd.core.model.pod import PodSource
from evictd.core.units.duration import SECOND
from evictd.render.console import make_console
from evictd.render.world_comparison import print_worlds, worlds_document
from evictd.render.world_outcome import PlayedWorld, outcome_text
from evictd.render.world_view import cycles_to_draw, print_world, timeline, world_document
from evictd.world.account import account_of
from evictd.world.behaviours import Stops
from evictd.world.file import WorldFile
from evictd.world.lifecycle import EvictionRefused
from evictd.world.loop import play
from evictd.world.model import ApiServer, DisruptionBudget, Owner, World
from tests.playbook import config
from tests.stories import ROOT
from tests.world.worlds import HARD, hog, holder, quiet, world


def played(of: World, policy: Policy = Policy.STANDARD) -> PlayedWorld:
    """A world that was played."""
    run = play(of, config(hard=HARD, policy=policy))
    unattended = play(of, config())
    return PlayedWorld(name=f"policy {policy.value}", run=run, account=account_of(run), unattended=unattended)


def shown(side: PlayedWorld) -> str:
    """What is printed of a world."""
    out = io.StringIO()
    print_world("w", side, make_console(out))
    return out.getvalue()


def test_the_timeline_has_what_changed_in_order_of_time() -> None:
    lines = timeline(played(world(hog(), *quiet(3))).run)
    texts = [line.text for line in lines]
    assert [line.at for line in lines] == sorted(line.at for line in lines)
    met = next(i for i, text in enumerate(texts) if text.startswith("memory.available<500Mi is met"))
    went = next(i for i, text in enumerate(texts) if text.startswith("evict default/hog"))
    gone = next(i for i, text in enumerate(texts) if text.startswith("default/hog is gone"))
    assert met < went < gone


def test_the_conclusion_says_who_went_whether_that_was_needed_and_what_the_kernel_would_have_done() -> None:
    side = played(world(hog(), *quiet(3)))
    text = " ".join(outcome_text(side.run, side.account, side.unattended))
    assert text.startswith("default/hog was evicted at 1m")
    assert "the cause" in text
    assert "No threshold is met from 1m" in text
    assert re.search(
        r"Without evictd the OOM killer would have come at 1m[0-9.]+s, [0-9.a-z]+ after the first eviction", text
    )


def test_an_oom_killer_that_would_have_come_before_the_first_eviction_is_said_to() -> None:
    """With its grace period the pod would have reached the end of memory; an amount of minus 200 ms was printed."""
    side = played(world(hog(Stops(after=None), rate=600 * (1 << 20)), *quiet(3)), Policy.KUBELET)
    text = " ".join(outcome_text(side.run, side.account, side.unattended))
    assert re.search(r"the OOM killer would have come at [0-9.a-z]+, [0-9.a-z]+ before the first eviction", text)


def test_a_calm_world_needs_no_eviction() -> None:
    side = played(world(*quiet(3)))
    assert outcome_text(side.run, side.account, side.unattended) == [
        "No pod was evicted.",
        "No threshold was met.",
    ]


def test_innocents_are_named_as_not_needed_and_the_cause_as_still_there() -> None:
    static = hog(source=PodSource.STATIC, name="static", rate=10 * (1 << 20))
    side = played(world(static, *quiet(6), duration=420 * SECOND), Policy.KUBELET)
    text = " ".join(outcome_text(side.run, side.account))
    assert "not needed" in text
    assert "No set of pods would have relieved the node" in text


def test_requests_that_are_refused_again_are_counted_and_not_listed() -> None:
    guard = ApiServer(budgets=(DisruptionBudget(pods=frozenset({"default/hog"})),))
    soft = config(soft={"memory.available": ("1Gi", "1s")})
    slow = hog(rate=10 << 20)
    run = play(world(slow, *quiet(3), api_server=guard, duration=400 * SECOND), soft)
    texts = [line.text for line in timeline(run)]
    refused = sum(isinstance(each.event, EvictionRefused) for each in run.happened)
    assert refused > 2
    assert texts.count("the API server refuses the eviction of default/hog") == 1
    assert sum(text.startswith("evict default/hog") for text in texts) == 2, (
        "the first request, and the one that is not refused"
    )
    assert f"The API server refused evictions {refused} times: default/hog." in outcome_text(run, account_of(run))


def test_rounds_that_repeat_are_shown_first_and_last_with_their_number() -> None:
    owner = Owner(name="ReplicaSet/hog", tolerates=True)
    text = shown(played(world(hog(rate=1 << 30, owner="ReplicaSet/hog"), owners=(owner,))))
    assert len(text.splitlines()) < 40, "it was cut after 60 lines, all of the first rounds"
    assert re.search(r"\.\.\. these \d lines \d+ times more from \S+ to \S+; the last time:", text)
    assert "times, with its successors, from" in text


def test_two_configurations_side_by_side_say_which_acts_first() -> None:
    story = world(hog(), *quiet(3))
    late = play(story, config(hard={"memory.available": "100Mi"}))
    sides = (played(story), PlayedWorld(name="late", run=late, account=account_of(late)))
    out = io.StringIO()
    print_worlds("w", sides, make_console(out))
    assert "First action: policy Standard, 8s earlier." in out.getvalue()
    document = worlds_document("w", sides)
    assert [each["configuration"] for each in document["configurations"]] == ["policy Standard", "late"]


def test_rounds_of_two_configurations_are_folded_as_well() -> None:
    owner = Owner(name="ReplicaSet/hog", tolerates=True)
    side = played(world(hog(rate=1 << 30, owner="ReplicaSet/hog"), owners=(owner,)))
    short, long = io.StringIO(), io.StringIO()
    print_worlds("w", (side, side), make_console(short))
    print_worlds("w", (side, side), make_console(long), everything=True)
    assert re.search(r"\.\.\. th(is line|ese \d lines) \d+ times more", re.sub(r"\s+", " ", short.getvalue()))
    assert len(short.getvalue().splitlines()) * 2 < len(long.getvalue().splitlines())


def test_one_that_does_nothing_is_named() -> None:
    story = world(hog(), *quiet(3))
    idle = play(story, config())
    out = io.StringIO()
    print_worlds("w", (played(story), PlayedWorld(name="idle", run=idle, account=account_of(idle))), make_console(out))
    assert "No action: idle." in out.getvalue()


def test_the_document_has_the_account() -> None:
    document = world_document("w", played(world(hog(), *quiet(3))))
    assert (document["innocents"], document["regret"], document["leastPods"]) == (0, 0, ["default/hog"])
    assert (document["losses"][0]["verdict"], document["losses"][0]["why"]) == ("culprit", "")


def test_each_innocent_has_the_reason_why_its_end_was_not_needed() -> None:
    over = holder("over", 200 << 20, memory="100Mi")
    document = world_document("w", played(world(hog(priority=10), over), Policy.KUBELET))
    found = {each["of"]: (each["verdict"], each["why"]) for each in document["losses"]}
    assert found["default/over"] == ("innocent", "the end of default/hog would have relieved the node for good")
    static = hog(source=PodSource.STATIC, name="static", rate=10 * (1 << 20))
    vain = played(world(static, *quiet(6), duration=420 * SECOND), Policy.KUBELET)
    assert {each.why for each in vain.account.losses if each.slot != "default/static"} == {
        "no set of pods would have relieved the node for good"
    }


def test_each_cycle_can_be_drawn() -> None:
    run = played(world(hog())).run
    assert len(cycles_to_draw(run)) == len(run.cycles)


def outcome(name: str, policy: Policy = Policy.STANDARD) -> list[str]:
    """The conclusion of a recorded incident."""
    file = read_story(ROOT / "config" / "incidents" / f"{name}.yaml")
    assert isinstance(file, WorldFile)
    run = play(file.world, own_config(file, policy))
    return outcome_text(run, account_of(run), play(file.world, replace(run.config, thresholds=())))


def test_kills_without_a_threshold_for_memory_are_explained() -> None:
    assert "The configuration has no threshold for memory, so evictd does not act on it." in outcome(
        "43-no-memory-threshold"
    )


def test_a_threshold_that_is_met_at_the_end_is_named_with_the_reason_why_no_pod_goes() -> None:
    text = " ".join(outcome("36-file-reader"))
    assert "At the end memory.available<2Gi is still met; NotShortOfMemory: " in text
    assert "The least that would have sufficed" not in text, "no pod needs to go"


def test_a_pod_that_comes_back_each_time_has_the_number_of_shortages() -> None:
    text = " ".join(outcome("01-recreated-hog"))
    assert "default/leak was evicted 117 times, with its successors, from " in text
    assert "A threshold was met 117 times, for 23s in all; none is at the end, 14m58s." in text
    assert "No smaller set of pods would have sufficed." in text


def test_a_full_disk_has_the_time_at_which_nothing_is_left_and_no_word_on_the_oom_killer() -> None:
    text = outcome("02-host-path-writer")
    assert "default/web-1 was evicted at 6m1s for nodefs.available: needed, in place of default/writer." in text
    assert (
        "Without evictd nothing would have been left of nodefs.available at 6m40s, 50s after the first eviction."
        in text
    )
    assert not any("OOM killer" in each for each in text)
    assert outcome("05-orphaned-snapshots")[-1] == "Without evictd nodefs.available would not have come below 4.95Gi."


def test_a_refused_request_is_not_shown_as_an_eviction_beside_another_configuration() -> None:
    guard = ApiServer(budgets=(DisruptionBudget(pods=frozenset({"default/hog"})),))
    story = world(hog(rate=10 << 20), *quiet(3), api_server=guard, duration=400 * SECOND)
    sides = []
    for name, grace in (("soon", "1s"), ("late", "20s")):
        run = play(story, config(soft={"memory.available": ("1Gi", grace)}))
        sides.append(PlayedWorld(name=name, run=run, account=account_of(run)))
    out = io.StringIO()
    print_worlds("w", sides, make_console(out))
    assert re.search(r"evict default/hog for memory.available: \S+ left: refused", out.getvalue())

"""Checks the timeline, the conclusion and the documents of a world."""

import io
import re
from dataclasses import replace

from evictd.core.model.config import Policy
from evictd.core.model.decision import begun_evictions
from evictd.core.model.pod import PodSource
from evictd.core.units.duration import MINUTE, SECOND
from evictd.render.console import make_console
from evictd.render.simulation.worlds.world_outcome import PlayedWorld, outcome_text
from evictd.render.simulation.worlds.world_view import (
    cycles_to_draw,
    folded_lines,
    print_world,
    timeline,
    world_document,
)
from evictd.world.account import account_of
from evictd.world.behaviours import Usage
from evictd.world.lifecycle import EvictionRefused
from evictd.world.loop import play
from evictd.world.model import ApiServer, Disk, DisruptionBudget, NodeImage, NodeSpec, Owner
from tests.playbook import config, pod
from tests.render.played_worlds import played
from tests.world.worlds import HARD, hog, holder, quiet, world
from tools.incidents import incident_files, play_incident


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


def test_an_eviction_has_the_reason_why_this_pod_went_and_not_another() -> None:
    """A pod within its request went before those that exceed theirs, and no line said why."""
    side = played(world(hog(memory="1Gi"), holder("over", 200 << 20, memory="100Mi")))
    (why,) = (each["why"] for each in world_document("w", side)["timeline"] if "why" in each)
    assert why.startswith("Evicted default/hog (")
    out = io.StringIO()
    print_world("w", side, make_console(out, 300))
    assert re.search(rf"evict default/hog .*\n +{re.escape(why)}\n", out.getvalue())


def test_a_condition_that_lasts_longer_than_configured_has_its_reason() -> None:
    """After the third eviction it ended ten minutes after the shortage, not five, and no line said why."""
    owner = Owner(name="ReplicaSet/hog")
    side = played(world(hog(owner="ReplicaSet/hog"), owners=(owner,), duration=60 * MINUTE))
    ends = [(line.at, line.why) for line in timeline(side.run) if line.text.endswith("MemoryPressure ended")]
    assert [why for _, why in ends[:2]] == ["", ""]
    assert ends[2][1] == (
        "MemoryPressure and its taint stay 10m0s after the shortage, because pods of default/ReplicaSet/hog come back when they "
        "end: 3 were evicted"
    )
    assert shown(side).count("its taint stay") == 1


def test_a_reason_that_differs_in_amounts_or_the_replica_alone_is_shown_once() -> None:
    pods = [hog(name=f"leak-{number}", rate=(5 + number) << 20) for number in range(3)]
    side = played(world(*pods, *quiet(1), duration=40 * MINUTE))
    whys = [line.why for line in timeline(side.run) if line.why]
    out, everything = io.StringIO(), io.StringIO()
    print_world("w", side, make_console(out, 300))
    print_world("w", side, make_console(everything, 300), everything=True)
    assert (len(whys), everything.getvalue().count("Evicted default/")) == (3, 3), whys
    assert out.getvalue().count("Evicted default/") == 2, "the last one has no other of its kind beside it"


def test_reclaim_is_not_said_to_be_enough_after_an_eviction() -> None:
    """`node-level reclaim was enough; no pod is evicted` stood 0.7 s after an eviction."""
    images = (NodeImage(name="a", size=2 << 30), NodeImage(name="b", size=3 << 30))
    node = NodeSpec(memory=4 << 30, nodefs=Disk(capacity=50 << 30, used=36 << 30), images=images)
    chatty = replace(hog(of=Usage.LOGS, rate=(1 << 30) // 60), image="a")
    run = play(world(chatty, node=node, duration=9 * MINUTE), config(hard={"nodefs.available": "10%"}))
    lines = [(line.at, line.text) for line in timeline(run)]
    evicted_at = next(at for at, text in lines if text.startswith("evict default/hog"))
    enough = [at for at, text in lines if text.startswith("node-level reclaim was enough")]
    assert len(enough) == 1
    assert enough[0] < evicted_at


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
    assert re.search(
        r"\.\.\. these \d lines \d+ times more, each of another pod, from \S+ to \S+; the last time:",
        " ".join(text.split()),
    )
    assert "times, with its successors, from" in text


def test_a_folded_line_says_of_how_many_pods_it_is_and_whether_the_interval_changed() -> None:
    """`the kernel kills web-2`, `this line 20 times more` hid six pods, killed 2.5 s to 98 s apart."""

    def folded(*lines: tuple[int, int]) -> str:
        texts = [(at * SECOND, f"the kernel kills default/web-{pod}") for at, pod in lines]
        return next(each for each in folded_lines(texts) if isinstance(each, str))

    assert folded((0, 1), (10, 1), (20, 1), (30, 1)) == "... this line 2 times more from 10s to 20s; the last time:"
    assert folded((0, 1), (10, 2), (20, 1), (30, 2)).startswith("... this line 2 times more, of 2 pods, from 10s")
    changed = folded((0, 1), (10, 1), (30, 1), (70, 1))
    assert changed.startswith("... this line 2 times more, 10s to 40s apart, from 10s")


def test_the_document_has_the_account() -> None:
    document = world_document("w", played(world(hog(), *quiet(3))))
    assert (document["innocents"], document["regret"], document["leastPods"]) == (0, 0, ["default/hog"])
    assert (document["losses"][0]["verdict"], document["losses"][0]["why"]) == ("culprit", "")


def test_each_innocent_has_the_reason_why_its_end_was_not_needed() -> None:
    over = holder("over", 200 << 20, memory="100Mi")
    document = world_document("w", played(world(hog(priority=10), over), Policy.KUBELET))
    found = {each["of"]: (each["verdict"], each["why"]) for each in document["losses"]}
    assert found["default/over"] == (
        "innocent",
        "the end of default/hog would have relieved what was short for the rest of the 5m0s played",
    )
    static = hog(source=PodSource.STATIC, name="static", rate=10 * (1 << 20))
    vain = played(world(static, *quiet(6), duration=420 * SECOND), Policy.KUBELET)
    assert {each.why for each in vain.account.losses if each.slot != "default/static"} == {
        "no set of evictable pods would have relieved the node for the rest of the 7m0s played"
    }


def test_a_pod_whose_end_was_of_no_use_is_marked_as_in_the_text() -> None:
    """The text of incident 02 says that three ends were of no use, its document that two of these pods were innocent."""
    (path,) = (each for each in incident_files() if each.stem == "02-host-path-writer")
    story = play_incident(path, (Policy.STANDARD,))
    run = story.runs[Policy.STANDARD]
    side = PlayedWorld(name="n", run=run, account=story.accounts[Policy.STANDARD], unattended=run)
    assert [each["ofNoUse"] for each in world_document("w", side)["losses"]] == [True] * 3


def test_each_cycle_can_be_drawn() -> None:
    run = played(world(hog())).run
    assert len(cycles_to_draw(run)) == len(run.cycles)


def test_the_reason_for_which_nothing_is_evicted_names_its_signal() -> None:
    """Two signals that stopped 41 s apart had the same line twice."""
    static = replace(hog(rate=8 << 20), pod=replace(hog().pod, source=PodSource.STATIC))
    node = NodeSpec(memory=4 << 30, unusable_memory=137 << 20)
    run = play(world(static, *quiet(4), node=node, duration=20 * MINUTE), config(hard=HARD))
    stops = [
        line.text for line in timeline(run) if "EvictionsDoNotHelp" in line.text or "ProtectedCulprit" in line.text
    ]
    assert stops
    assert all(each.startswith(("memory.available: ", "allocatableMemory.available: ")) for each in stops)


def test_a_reason_of_a_threshold_that_repeats_another_one_is_said_once() -> None:
    """Without a limit of all pods, that of allocatableMemory.available is derived and was said below it, word by word."""
    agent = hog(name="agent", source=PodSource.STATIC)
    texts = [line.text for line in timeline(played(world(agent, *quiet(3))).run)]
    assert sum("ProtectedCulprit" in text for text in texts) == sum(" is met, " in text for text in texts)


def test_a_pod_that_is_evicted_at_once_is_started_before() -> None:
    """`evict default/agent-1` stood above `default/agent-1 is started`."""
    agent = replace(holder("agent", 300 << 20), pod=pod("agent", owner="default/DaemonSet/agent"))
    owner = Owner(name="default/DaemonSet/agent", tolerates=True)
    run = play(world(agent, holder("big", 3400 << 20, priority=10), owners=(owner,)), config(hard=HARD))
    lines = [line.text for line in timeline(run)]
    evicted = next(number for number, text in enumerate(lines) if text.startswith("evict default/agent-1 "))
    assert "default/agent-1 is started" in lines[:evicted]


def test_a_pod_that_the_reading_of_an_eviction_has_is_started_before() -> None:
    """`search-2, which ranks before it, is passed over` stood above `search-2 is started`."""
    run = play(world(hog(), *quiet(3)), config(hard=HARD))
    at = next(cycle.at for cycle in run.cycles if any(begun_evictions(cycle.step.decisions)))
    late = replace(holder("late", 1), start=at)
    lines = [line.text for line in timeline(play(world(hog(), late, *quiet(3)), config(hard=HARD))) if line.at == at]
    evicted = next(number for number, text in enumerate(lines) if text.startswith("evict default/hog "))
    assert "default/late is started" in lines[:evicted]


def test_a_limit_below_the_configured_threshold_is_explained_where_it_is_met_first() -> None:
    """`memory.available<2500Mi is met, just under 2.38Gi left, limit 2.38Gi` was explained only at the eviction (world 44)."""
    run = play(
        world(hog(rate=10 << 20), *quiet(3), node=NodeSpec(memory=4 << 30, unusable_memory=64 << 20)),
        config(soft={"memory.available": ("2500Mi", "10s")}),
    )
    (met,) = (each.text for each in timeline(run) if " is met, " in each.text)
    assert re.search(r"limit 2\.\d+Gi \(2500Mi less what no process can allocate\)$", met), met

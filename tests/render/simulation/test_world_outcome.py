"""Checks the sentences on what came of a world."""

import re
from dataclasses import replace

import pytest

from evictd.codec.config.kubelet_config import eviction_config
from evictd.core.model.config import FastFill, MemoryFormula, Policy
from evictd.core.model.finding import NoAction, NoActionReason
from evictd.core.model.pod import PodSource
from evictd.core.model.resources import Container
from evictd.core.units.duration import MILLISECOND, MINUTE, SECOND
from evictd.core.units.quantity import of_bytes
from evictd.render.simulation.worlds.world_outcome import PlayedWorld, outcome_text
from evictd.render.simulation.worlds.world_view import world_document
from evictd.render.stop_reason import no_action_text
from evictd.render.text import clock
from evictd.world.account import Verdict, account_of
from evictd.world.behaviours import Burst, Exits, Grow, Hold, LeakAndRelease, Stops, Usage
from evictd.world.loop import play
from evictd.world.model import ApiServer, Disk, HostUse, NodeSpec, Outage, WorldPod
from tests.playbook import config, pod
from tests.render.played_worlds import incident_run, incident_texts, played
from tests.world.worlds import HARD, database_for_a_host_that_stops, disk_then_memory, hog, holder, quiet, world


def test_kills_without_a_threshold_for_memory_are_explained() -> None:
    assert "The configuration has no threshold for memory, so evictd does not act on it." in incident_texts(
        "43-no-memory-threshold"
    )


def test_a_threshold_that_is_met_at_the_end_is_named_with_the_reason_why_no_pod_goes() -> None:
    text = " ".join(incident_texts("36-file-reader"))
    assert "At the end memory.available<2Gi is still met; NotShortOfMemory: " in text
    assert "The least that would have sufficed" not in text, "no pod needs to go"


def test_a_resource_without_a_threshold_that_ran_out_is_named_with_its_time() -> None:
    """A disk that was full after two minutes was concluded with `No threshold was met.`"""
    node = NodeSpec(memory=4 << 30, nodefs=Disk(capacity=10 << 30, inodes=120_000))
    of_disk, of_inodes = hog(of=Usage.LOGS, rate=100 << 20), hog(of=Usage.LAYER_INODES, rate=1000)
    side = played(world(of_disk, node=node))
    missing = "the configuration has no threshold for it, so evictd does not act on it."
    assert f"Nothing was left of nodefs.available at 1m42.4s; {missing}" in outcome_text(side.run, side.account)
    run = play(world(of_inodes, node=node), config(hard={"nodefs.available": "5%"}))
    assert f"Nothing was left of nodefs.inodesFree at 2m0s; {missing}" in outcome_text(run, account_of(run))
    forks = play(world(hog(of=Usage.PROCESSES, rate=1000)), config(hard=HARD))
    assert f"Nothing was left of pid.available at 32.8s; {missing}" in outcome_text(forks, account_of(forks))
    same_disk = play(world(of_disk, node=node), config(hard={"imagefs.available": "5%"}))
    assert not any(missing in each for each in outcome_text(same_disk, account_of(same_disk)))


def test_the_least_without_evictd_is_that_of_every_change_and_not_of_the_readings_alone() -> None:
    """Cycles ten seconds apart read 10Gi as the least; 2Gi were left for a moment."""
    node = NodeSpec(memory=4 << 30, nodefs=Disk(capacity=100 << 30))
    writer = WorldPod(
        pod=pod("writer"), behaviours=(LeakAndRelease(of=Usage.LAYER, rate=1 << 30, peak=98 << 30),), culprit=True
    )
    side = played(world(writer, node=node, duration=105 * SECOND), hard={"nodefs.available": "15Gi"})
    assert side.unattended is not None
    text = outcome_text(side.run, side.account, side.unattended)
    assert "Without evictd nodefs.available would not have come below 2Gi within the 1m45s played." in text


def test_a_burst_between_two_readings_is_told_of() -> None:
    """A disk that was full for three seconds was concluded with `No threshold was met.`"""
    node = NodeSpec(memory=4 << 30, nodefs=Disk(capacity=100 << 30))
    burst = Burst(of=Usage.LAYER, amount=102 << 30, rate=102 << 30, start=61 * SECOND, duration=5 * SECOND)
    side = played(world(WorldPod(pod=pod("burst"), behaviours=(burst,)), node=node), hard={"nodefs.available": "10Gi"})
    assert outcome_text(side.run, side.account, side.unattended) == [
        "No pod was evicted.",
        "No threshold was met at a reading; between two readings one was, first at 1m1.9s.",
        "Nothing was left of nodefs.available at 1m2s, as without evictd.",
    ]


def test_the_time_at_which_nothing_would_be_left_is_not_that_of_the_next_reading() -> None:
    """What was left at the eviction lasts 62 ms; the readings without evictd said ten seconds."""
    writer = hog(of=Usage.LOGS, rate=150 << 20)
    node = NodeSpec(memory=4 << 30, nodefs=Disk(capacity=60 * (150 << 20) + (1 << 20)))
    story = world(writer, node=node, watch=False)
    hard = config(hard={"nodefs.available": "2Gi"})
    run = play(story, hard)
    late = outcome_text(run, account_of(run), play(story, config()))
    assert late[-1].startswith("Without evictd nothing would have been left of nodefs.available at 1m0s, ")
    full = replace(story, node=replace(node, nodefs=Disk(capacity=55 * (150 << 20))))
    run = play(full, config(hard={"nodefs.available": "100Mi"}))
    same = outcome_text(run, account_of(run), play(full, config()))
    assert same[-1] == "Nothing was left of nodefs.available at 55s, as without evictd."


def test_of_a_disk_the_comparison_has_no_reclaim_either() -> None:
    """`20s after the first eviction` read as if that eviction had 20 s: the reclaim before it had freed 8Gi."""
    text = incident_texts("33-control-containers-of-a-daemon-set")
    assert any(
        each.startswith("Without evictd (neither its reclaim nor its evictions) nothing would have been left")
        for each in text
    )


def test_a_pod_that_was_leaving_is_neither_needed_nor_a_cost() -> None:
    """`needed to clear the threshold` stood beside `No pod had to go.`"""
    text = incident_texts("11-leaving-pod")
    assert text[0] == (
        "default/old was evicted at 2m3.9s for memory.available and gone at 2m5.1s (at least 460Mi was left meanwhile): being "
        "deleted already, it only ended earlier."
    )
    assert not any("had to go" in each or "evictd cost" in each for each in text)


def test_what_was_left_while_a_pod_ended_is_the_least_of_the_run_and_not_of_its_readings() -> None:
    """It grew by 300Mi for another second: `at least 960Mi` was the last reading before."""
    side = played(
        world(hog(Stops(after=None), rate=300 << 20), *quiet(3), node=NodeSpec(memory=20 << 30)),
        hard={"memory.available": "1Gi"},
    )
    (text, *_) = outcome_text(side.run, side.account)
    assert "(at least 724Mi was left meanwhile)" in text


def test_a_kill_by_the_kernel_while_a_pod_ends_means_that_nothing_was_left() -> None:
    """`at least 68Mi was left meanwhile` stood above `The kernel killed ... 2 times` (world 16 with policy Kubelet)."""
    story = world(hog(Stops(after=None), rate=20 << 20), *quiet(3), duration=600 * SECOND)
    soft = replace(
        config(soft={"memory.available": ("500Mi", "1s")}, max_pod_grace_period_seconds=60), policy=Policy.KUBELET
    )
    run = play(story, soft)
    assert run.kills
    (text, *_) = outcome_text(run, account_of(run))
    assert " (nothing was left meanwhile: the kernel killed for want of memory): the cause." in text


def test_a_pod_that_comes_back_each_time_has_the_number_of_shortages() -> None:
    text = " ".join(incident_texts("01-recreated-hog"))
    assert "default/leak was evicted 117 times, with its successors, from " in text
    assert "A threshold was met 117 times, for 23s in all; none is met at the end, 15m0s." in text
    assert "sufficed" not in text, "one pod went, and one pod had to"


def test_a_full_disk_has_the_time_at_which_nothing_is_left_and_no_word_on_the_oom_killer() -> None:
    text = incident_texts("02-host-path-writer")
    assert text[:2] == [
        "default/web-0 was evicted at 5m50s for nodefs.available: needed, but in vain: nodefs.available ran out all the same.",
        (
            "default/web-1, default/web-2 were evicted from 6m0.7s to 16m12s for nodefs.available: not needed, and in vain: "
            "nodefs.available ran out all the same."
        ),
    ], "which two of the three were innocent was not said"
    assert text[-1] == "Nothing was left of nodefs.available at 6m40.6s, without evictd at 6m37.6s."
    assert not any("OOM killer" in each for each in text)
    assert incident_texts("27-control-volume-writer")[-1] == (
        "Without evictd nothing would have been left of nodefs.available at 6m37.6s, 48s after the first eviction."
    )
    assert incident_texts("05-orphaned-snapshots")[-1] == (
        "Without evictd nodefs.available would not have come below 4.95Gi within the 20m0s played, and nodefs.available<10% "
        "would be met at the end."
    ), "that it stays short was not said"


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
    """Without the watch the kernel kills between two cycles; an amount of minus 200 ms was printed."""
    story = world(hog(rate=150 * (1 << 20)), *quiet(3), watch=False)
    side = played(story)
    text = " ".join(outcome_text(side.run, side.account, side.unattended))
    assert re.search(r"the OOM killer would have come at [0-9.a-z]+, [0-9.a-z]+ before the first eviction", text)


def test_a_pod_that_is_killed_without_grace_is_said_to_be_killed_at_once() -> None:
    """`was killed after 0s` was said where memory fills so fast that no grace period is given."""
    side = played(world(hog(Stops(after=20 * SECOND), rate=600 * (1 << 20)), *quiet(3)))
    assert "default/hog was killed at once; it needs 20s to end." in outcome_text(side.run, side.account)


def test_a_pod_that_is_killed_before_the_end_that_it_needs_is_said_to_be() -> None:
    """A hard eviction gives a second; of a pod that needs 20s to end there were only two times."""
    side = played(world(hog(Stops(after=20 * SECOND)), *quiet(3)))
    assert "default/hog was killed after 1s; it needs 20s to end." in outcome_text(side.run, side.account)
    (loss,) = world_document("w", side)["losses"]
    assert (loss["killedAfter"], loss["neededToEnd"]) == ("1s", "20s")
    side = played(world(hog(), *quiet(3)))
    assert "to end." not in " ".join(outcome_text(side.run, side.account))
    assert "killedAfter" not in world_document("w", side)["losses"][0]


def test_an_eviction_has_the_time_of_its_decision_and_a_slow_end_its_own() -> None:
    """The timeline said 2m22.4s and the conclusion 2m23s; the OOM killer was as far from the end of the pod."""
    side = played(world(hog(rate=20 << 20), *quiet(3), duration=600 * SECOND))
    (loss,) = side.account.losses
    assert loss.at - loss.decided_at == 200 * MILLISECOND
    (text, *_) = outcome_text(side.run, side.account)
    assert text.startswith(f"default/hog was evicted at {clock(loss.decided_at)} for memory.available: ")
    slow = hog(Stops(after=5 * SECOND), rate=20 << 20)
    soft = config(soft={"memory.available": ("500Mi", "1s")}, max_pod_grace_period_seconds=60)
    run = play(world(slow, *quiet(3), duration=600 * SECOND), soft)
    account = account_of(run)
    gone = clock(account.losses[0].at)
    meanwhile = "(at least 200Mi was left meanwhile)"
    assert f" for memory.available and gone at {gone} {meanwhile}: the cause." in outcome_text(run, account)[0]


def agent_beside_a_database(minutes: int) -> PlayedWorld:
    """A static pod that leaks, beside a database that its requests cover."""
    agent = hog(source=PodSource.STATIC, name="agent", rate=(200 << 20) // 60)
    web = [holder(f"web-{number}", 150 << 20, memory="200Mi") for number in range(3)]
    pods = (holder("postgres", 1536 << 20, memory="2Gi", priority=1000), agent, *web)
    host = (HostUse(name="system", behaviours=(Hold(of=Usage.MEMORY, amount=400 << 20),)),)
    return played(world(*pods, host=host, node=NodeSpec(memory=4 << 30), duration=minutes * 60 * SECOND))


def test_a_cause_that_exited_is_not_said_to_go_on_and_the_time_of_the_fewest_ends_is_named() -> None:
    """The writer of world 03 exits after the first eviction: `the cause, was not ended`, and two pods at 5m50s are too few."""
    node = NodeSpec(memory=4 << 30, nodefs=Disk(capacity=20 << 30))
    writer = hog(Exits(after=95 * SECOND), of=Usage.HOST_PATH, rate=200 << 20)
    web = [holder(f"web-{number}", 300 << 20, of=Usage.LAYER) for number in range(8)]
    side = played(world(writer, *web, node=node, duration=10 * MINUTE), hard={"nodefs.available": "1Gi"})
    text = outcome_text(side.run, side.account)
    assert any(
        re.fullmatch(r"default/hog, the cause, was not evicted: it exited by itself at 1m35[.\ds]+\.", each)
        for each in text
    ), text
    assert side.account.ideal.crossed_at is not None
    at = clock(side.account.ideal.crossed_at)
    assert any(f"is the end of 2 pods at {at}: " in each for each in text), text


def test_evictions_for_the_minimum_reclaim_alone_are_said_to_be() -> None:
    """It said "not needed", and not that the minimum reclaim was the reason (world 22)."""
    assert (
        "default/stress-03, default/stress-04 were evicted from 5m5.6s to 5m5.8s for memory.available: not needed within "
        "the 10m0s played, and only for the minimum reclaim: the threshold itself was clear."
    ) in incident_texts("22-minimum-reclaim")


@pytest.mark.parametrize("reclaim", [{}, {"memory.available": "100Mi"}])
def test_an_eviction_for_the_lead_alone_is_not_blamed_on_the_minimum_reclaim(reclaim: dict[str, str]) -> None:
    """Without any minimum reclaim it said "only for the minimum reclaim"; with the lead off no pod goes."""
    burst = Burst(of=Usage.MEMORY, amount=3400 << 20, start=60 * SECOND, duration=120 * SECOND)
    story = world(WorldPod(pod=pod("burst"), behaviours=(burst,)))
    limits = replace(config(hard=HARD, min_reclaim=reclaim), memory_lead=FastFill.AUTO)
    run = play(story, limits)
    [loss] = account_of(run).losses
    assert loss.verdict is Verdict.INNOCENT
    text = outcome_text(run, account_of(run))[0]
    assert text.endswith(
        "not needed within the 5m0s played, and only for `memory.lead`: the threshold was not crossed."
    )
    assert not account_of(play(story, replace(limits, memory_lead=FastFill.OFF))).losses


@pytest.mark.parametrize("priority", [0, 100])
def test_a_pod_of_lower_priority_that_was_enough_is_named(priority: int) -> None:
    """A database of priority 100 went, and was called `needed to clear the threshold, in place of` a job."""
    run = play(database_for_a_host_that_stops(priority), config(hard={"memory.available": "200Mi"}))
    said = {
        0: "needed to clear the threshold, which stays clear for the rest of the 5m0s played, in place of default/job.",
        100: "not needed within the 5m0s played: default/job of lower priority was enough.",
    }
    assert outcome_text(run, account_of(run))[0].endswith(f" for memory.available: {said[priority]}")


def test_what_is_needed_names_the_time_for_which_it_is() -> None:
    """The same evictions are not needed in eight minutes, needed in fifteen, and vain in thirty."""
    short, long, longest = (
        outcome_text(side.run, side.account, side.unattended) for side in map(agent_beside_a_database, (8, 15, 30))
    )
    assert short[0].endswith("default/web-0, default/web-1 were evicted from 6m3s to 6m48s for memory.available: "
        "not needed within the 8m0s played.")  # fmt: skip
    assert short[1].endswith(": needed to clear the threshold, which stays clear for the rest of the 8m0s played."), (
        "in order of time"
    )
    assert (
        "The least that would have sufficed for the rest of the 8m0s played is the end of 1 pod at 6m3.1s: default/postgres."
        in short
    )
    assert any(
        each.startswith("Without evictd the OOM killer would not have come within the 8m0s played") for each in short
    )
    assert not any(each.startswith("No smaller set") for each in long), "that is not known of three pods"
    later = "default/agent, the cause, was not ended"
    assert f"{later}; it goes on, so a longer `duration` can change what was needed." in long
    assert (
        "default/agent, the cause, was not evicted: the kernel killed its container, which was started again."
        in longest
    ), "no pod was called needed, and it was not ended"
    assert "No set of evictable pods would have relieved the node for the rest of the 30m0s played." in longest


@pytest.mark.parametrize(("bound", "longer"), [(None, True), (3700 << 20, False)])
def test_an_oom_kill_that_a_longer_world_brings_is_hinted_at(bound: int | None, longer: bool) -> None:
    """`would not have come within the 1m17s played` of a leak that brings it at 1m20s, with no word on the leak."""
    grow = Grow(of=Usage.MEMORY, rate=50 << 20, bound=bound)
    node = NodeSpec(memory=4 << 30, unusable_memory=64 << 20)
    side = played(world(WorldPod(pod=hog().pod, behaviours=(grow,)), node=node, duration=77 * SECOND))
    (text,) = (each for each in outcome_text(side.run, side.account, side.unattended) if "OOM killer" in each)
    assert text.startswith("Without evictd the OOM killer would not have come within the 1m17s played")
    assert text.endswith("; more memory is taken after that, so a longer `duration` can bring it.") is longer


@pytest.mark.parametrize(("peak", "longer"), [(3 << 30, False), (5 << 30, True)])
def test_a_growth_whose_peak_fits_brings_no_oom_kill_in_a_longer_world(peak: int, longer: bool) -> None:
    """A pod that grows to 3Gi and no further on a node of 4Gi was said to be able to bring the OOM killer."""
    grow = Grow(of=Usage.MEMORY, rate=20 << 20, bound=peak)
    node = NodeSpec(memory=4 << 30, unusable_memory=64 << 20)
    side = played(
        world(WorldPod(pod=hog().pod, behaviours=(grow,)), node=node, duration=120 * SECOND),
        hard={"memory.available": "2Gi"},
    )
    (text,) = (each for each in outcome_text(side.run, side.account, side.unattended) if "OOM killer would" in each)
    assert text.endswith("; more memory is taken after that, so a longer `duration` can bring it.") is longer


def test_evictions_that_cost_more_than_the_kernel_would_have_are_said_to() -> None:
    side = agent_beside_a_database(15)
    *_, cost, why = outcome_text(side.run, side.account, side.unattended)
    assert why == (
        "A protected pod is the cause; the others went because together they held what was missing, and its growth for 40 s "
        "for each eviction (docs/laws.md, Blame)."
    )
    assert cost == (
        "evictd cost 3 pods, and none of them was the cause; without evictd the kernel would have killed only default/agent, the "
        "cause, within the 15m0s played."
    )
    short = agent_beside_a_database(8)
    assert outcome_text(short.run, short.account, short.unattended)[-2].endswith(
        "the kernel would have killed no pod within the 8m0s played."
    )
    assert not any("evictd cost" in each for each in incident_texts("01-recreated-hog")), "the cause went"


def test_what_the_kernel_keeps_on_a_real_node_is_said_where_little_was_left() -> None:
    """`The OOM killer would not have come` was said of a node on which nothing was left at the end."""
    grow = Grow(of=Usage.MEMORY, rate=20 << 20, bound=7 << 30)
    bounded = WorldPod(pod=hog(name="web", memory="500Mi").pod, behaviours=(grow,))
    story = world(bounded, holder("db", 900 << 20, memory="1Gi"), memory=8 << 30, duration=420 * SECOND)
    side = played(story)
    (text,) = (each for each in outcome_text(side.run, side.account, side.unattended) if "OOM killer" in each)
    assert text.endswith(
        "with 124Mi left; on a real node it can, as 163Mi to 234Mi that no process can allocate count as available."
    )
    known = replace(story, node=replace(story.node, unusable_memory=64 << 20))
    side = played(known)
    assert not any("on a real node it can" in each for each in outcome_text(side.run, side.account, side.unattended))


def test_pods_that_went_before_the_cause_are_compared_with_the_kernels_kills() -> None:
    """The kubelet's order takes the small pods first; the kernel would have killed the leak, and it alone.

    How often was not said: 7 kills of one pod, a crash loop, read like one lost pod.
    """
    small = [holder(f"small-{number}", 150 << 20, memory="1Mi", priority=-10) for number in range(2)]
    side = played(world(hog(), *small, *quiet(3)), Policy.KUBELET)
    text = outcome_text(side.run, side.account, side.unattended)
    assert (
        "evictd cost 2 pods beside the cause; without evictd the kernel would have killed only default/hog, the cause, 4 times "
        "within the 5m0s played."
    ) in text
    bounded = WorldPod(
        pod=hog(source=PodSource.STATIC, name="static").pod,
        behaviours=(Grow(of=Usage.MEMORY, rate=10 << 20, bound=3700 << 20),),
    )
    side = played(world(bounded, *small, *quiet(1), duration=420 * SECOND), Policy.KUBELET)
    text = outcome_text(side.run, side.account, side.unattended)
    assert any(
        each.startswith("evictd cost 3 pods; without evictd the kernel would have killed 1 pod: default/static, ")
        for each in text
    ), text


def test_a_process_of_the_host_that_was_killed_is_no_pod() -> None:
    (cost,) = (each for each in incident_texts("08-host-daemon-of-the-runtime") if each.startswith("evictd cost"))
    assert "the kernel killed 6 pods and 1 process of the host as well" in cost
    assert "the kernel would have killed 8 pods and 1 process of the host: default/web-0, " in cost


def test_what_the_kernel_killed_beside_the_evictions_is_counted_on_both_sides() -> None:
    """With evictd it killed six of the eight pods too."""
    (cost,) = (each for each in incident_texts("07-kernel-memory") if each.startswith("evictd cost"))
    assert cost.startswith(
        "evictd cost 2 pods; the kernel killed 6 pods as well; without evictd the kernel would have killed 8 pods: default/web-0,"
    )


def test_kills_at_a_limit_of_their_own_are_told() -> None:
    """A pod that leaked into its own limit five times was concluded with `No threshold was met` and `was not ended`."""
    leak = hog(containers=(Container(name="c", limits={"memory": of_bytes(1 << 30)}),))
    side = played(world(leak, *quiet(1)))
    text = outcome_text(side.run, side.account)
    assert "The kernel killed default/hog at its own memory limit 6 times, first at 20.5s." in text
    assert any(each.startswith("default/hog, the cause, was not evicted: the kernel killed its") for each in text)
    assert "No threshold was met." in text, "one was said to be met between two readings, as if the pod had no limit"


def test_swap_that_is_full_when_the_kernel_kills_has_no_least_amount() -> None:
    """`would not have come below 34Mi` stood below the OOM killer, which comes when the swap is full."""
    node = NodeSpec(memory=1 << 30, swap=1 << 30)
    story = world(hog(rate=10 << 20), node=node)
    settings = config(hard={"swap.available": "20%"})
    run = play(story, settings)
    text = outcome_text(run, account_of(run), play(story, config()))
    assert any("for swap.available" in each for each in text)
    assert any("the OOM killer would have come" in each for each in text)
    assert not any("would not have come below" in each for each in text)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("07-kernel-memory", "what grows was not measured in any pod that may go, so evictions pause"),
        ("23-threshold-never-clear", "that is too little, so evictions pause"),
    ],
)
def test_a_pause_says_whether_too_little_came_back_or_what_grows_is_no_pod(name: str, why: str) -> None:
    """Both stood in one sentence with `or`, which left it open what to look for."""
    findings = [each for cycle in incident_run(name).cycles for each in cycle.step.findings]
    stops = [each for each in findings if isinstance(each, NoAction)]
    texts = {no_action_text(each) for each in stops if each.why is NoActionReason.EVICTIONS_DO_NOT_HELP}
    assert texts
    assert all(each.endswith(why) for each in texts)


def test_a_growth_that_is_over_is_not_said_to_go_on() -> None:
    """A `grow` with a bound that it has reached: what was needed does not change with a longer world."""
    side = agent_beside_a_database(15)
    assert any("; it goes on" in each for each in outcome_text(side.run, side.account))
    pods = tuple(
        replace(each, behaviours=(replace(grow, bound=grow.rate * 900),), culprit=True)
        if each.pod.name == "agent" and isinstance(grow := each.behaviours[-1], Grow)
        else each
        for each in side.run.world.pods
    )
    over = played(replace(side.run.world, pods=pods, duration=1000 * SECOND))
    text = outcome_text(over.run, over.account)
    assert any(each == "default/agent, the cause, was not ended." for each in text)
    assert any("needed to clear the threshold" in each for each in text)


def test_a_cause_that_was_deleted_is_not_said_to_stay() -> None:
    side = agent_beside_a_database(15)
    pods = tuple(replace(each, deleted_at=1400 * SECOND) for each in side.run.world.pods if each.pod.name == "agent")
    others = tuple(each for each in side.run.world.pods if each.pod.name != "agent")
    gone = played(replace(side.run.world, pods=(*others, *pods), duration=1500 * SECOND))
    assert gone.account.culprits == {"default/agent"}
    assert not any("default/agent, the cause, was not" in each for each in outcome_text(gone.run, gone.account))


def test_a_soft_eviction_that_an_outage_holds_up_is_named() -> None:
    """`No pod was evicted.` stood below `evict default/hog` without a reason."""

    def texts(status: int, soft: bool) -> list[str]:
        api = ApiServer(outages=(Outage(start=0, duration=20 * MINUTE, status=status),))
        story = world(hog(rate=10 * (1 << 20)), api_server=api)
        run = play(story, config(soft={"memory.available": ("2Gi", "10s")}) if soft else config(hard=dict(HARD)))
        return outcome_text(run, account_of(run))

    assert texts(0, soft=True)[:2] == [
        "No pod was evicted.",
        "The soft eviction of default/hog waited from 3m34.8s on for the API server, which could not be reached until 20m0s.",
    ]
    assert "for the API server, which answered with status 500 until 20m0s." in texts(500, soft=True)[1]
    assert not any("API server" in each for each in texts(0, soft=False)), "a hard one does not wait"


def test_a_calm_world_needs_no_eviction() -> None:
    side = played(world(*quiet(3)))
    assert outcome_text(side.run, side.account, side.unattended) == [
        "No pod was evicted.",
        "No threshold was met.",
    ]


def test_a_pod_that_the_kernel_kills_without_a_threshold_is_innocent_only_if_its_end_was_not_needed() -> None:
    """The same pod was `needed` when evicted, and `innocent` when killed under a configuration without thresholds."""
    cron = WorldPod(pod=pod("cron"), behaviours=(Grow(of=Usage.MEMORY, rate=50 << 20, bound=4 << 30),))
    text = outcome_text(run := play(world(cron, *quiet(3)), config()), account_of(run))
    assert text[1] == "The kernel killed for want of memory 3 times, first at 1m15.9s: default/cron."
    assert text[3] == "There is no threshold."


def test_innocents_are_named_as_not_needed_and_the_cause_as_still_there() -> None:
    static = hog(source=PodSource.STATIC, name="static", rate=10 * (1 << 20))
    side = played(world(static, *quiet(6), duration=420 * SECOND), Policy.KUBELET)
    text = " ".join(outcome_text(side.run, side.account))
    assert "not needed" in text
    assert "No set of evictable pods would have relieved the node" in text


def test_a_derived_threshold_is_named_where_it_alone_is_met() -> None:
    """Under policy Kubelet the limit of all pods can be short while the node is not."""
    node = NodeSpec(memory=8 << 30, allocatable_memory=2 << 30)
    story = world(hog(source=PodSource.STATIC, rate=10 << 20), node=node, duration=170 * SECOND)
    run = play(story, eviction_config({"evictionHard": HARD}, policy=Policy.KUBELET))
    text = " ".join(outcome_text(run, account_of(run)))
    assert "At the end allocatableMemory.available<500Mi is still met" in text


def test_a_threshold_that_can_never_be_met_was_not_met_between_two_readings() -> None:
    """At the instant of a kill more is taken than there is, which was said to have met the threshold."""
    settings = replace(config(hard={"memory.available": "100Mi"}), memory_formula=MemoryFormula.WORKING_SET)
    node = NodeSpec(memory=4 << 30, unusable_memory=150 << 20)
    leak = WorldPod(
        pod=pod("small", memory="128Mi"),
        behaviours=(
            Hold(of=Usage.MEMORY, amount=100 << 20),
            Grow(of=Usage.MEMORY, rate=(100 << 20) // 60),
        ),
    )
    host = (HostUse(name="system", behaviours=(Hold(of=Usage.MEMORY, amount=800 << 20),)),)
    story = world(holder("big", 2 << 30, memory="1Gi"), leak, node=node, host=host, duration=20 * MINUTE)
    run = play(story, settings)
    account = account_of(run)
    assert run.kills
    assert account.ideal.crossed_at is not None
    assert "No threshold was met." in outcome_text(run, account)


def test_a_pod_that_only_another_shortage_needed_is_said_to_be() -> None:
    """`needed to clear the threshold` was said of a pod that held nothing of the disk that it was evicted for."""
    run = disk_then_memory(Grow(of=Usage.MEMORY, rate=20 << 20))
    text = " ".join(outcome_text(run, account_of(run)))
    said = "not needed for that, only for memory.available, which was not short then."
    assert f" for nodefs.available: {said}" in text
    assert "too few" not in text

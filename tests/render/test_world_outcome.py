"""Checks the sentences on what came of a world."""

import re
from dataclasses import replace

from evictd.codec.config.kubelet_config import eviction_config
from evictd.commands.source import own_config, read_story
from evictd.core.model.config import Policy
from evictd.core.model.pod import PodSource
from evictd.core.units.duration import SECOND
from evictd.render.world_outcome import outcome_text
from evictd.world.account import account_of
from evictd.world.behaviours import Stops
from evictd.world.file import WorldFile
from evictd.world.loop import play
from evictd.world.model import NodeSpec
from tests.render.played_worlds import played
from tests.stories import ROOT
from tests.world.worlds import HARD, hog, quiet, world


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
    assert "sufficed" not in text, "one pod went, and one pod had to"


def test_a_full_disk_has_the_time_at_which_nothing_is_left_and_no_word_on_the_oom_killer() -> None:
    text = outcome("02-host-path-writer")
    assert (
        "default/web-1 was evicted at 6m1s for nodefs.available: needed to clear the threshold, in place of default/writer."
        in text
    )
    assert text[-1] == "Nothing was left of nodefs.available at 6m41s, without evictd at 6m40s."
    assert not any("OOM killer" in each for each in text)
    assert outcome("27-control-volume-writer")[-1] == (
        "Without evictd nothing would have been left of nodefs.available at 6m40s, 50s after the first eviction."
    )
    assert outcome("05-orphaned-snapshots")[-1] == "Without evictd nodefs.available would not have come below 4.95Gi."


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


def test_a_derived_threshold_is_named_where_it_alone_is_met() -> None:
    """Under policy Kubelet the limit of all pods can be short while the node is not."""
    node = NodeSpec(memory=8 << 30, allocatable_memory=2 << 30)
    story = world(hog(source=PodSource.STATIC, rate=10 << 20), node=node, duration=170 * SECOND)
    run = play(story, eviction_config({"evictionHard": HARD}, policy=Policy.KUBELET, default_hard=True))
    text = " ".join(outcome_text(run, account_of(run)))
    assert "At the end allocatableMemory.available<500Mi is still met" in text

"""Checks the warnings about thresholds of a world."""

from dataclasses import replace

import pytest

from evictd.codec.config.kubelet_config import eviction_config
from evictd.core.model.config import EvictionConfig, PodGroup, Policy, Preferences
from evictd.core.model.signal import Signal
from evictd.render.simulation.worlds.world_warnings import (
    dropped_texts,
    dry_run_texts,
    ownerless_texts,
    pids_limit_texts,
    warnings_text,
)
from evictd.world.behaviours import Usage, within_pids
from evictd.world.loop import play
from evictd.world.model import NodeSpec, Owner
from tests.playbook import config
from tests.world.worlds import GI, MI, hog, holder, quiet, world

SOFT = config(hard={"memory.available": "1Mi"}, soft={"memory.available": ("120Mi", "5s")})


def warnings(settings: EvictionConfig, unusable: int = 0) -> list[str]:
    """The warnings about a configuration on a node of 4Gi."""
    node = NodeSpec(memory=4 * GI, unusable_memory=unusable)
    return [*warnings_text(play(world(*quiet(3), node=node), settings))]


def test_a_threshold_that_a_real_kernel_would_forestall_is_named() -> None:
    (warning,) = warnings(SOFT)
    assert warning == (
        "Warning: on a real node of 4Gi the OOM killer can act before memory.available<120Mi is met, as 137Mi to 207Mi that no "
        "process can allocate count as available (docs/tuning.md); this world has none of it: set `node.unusableMemory`."
    )
    assert not any("real node" in each for each in warnings(SOFT, unusable=100 * MI))
    assert warnings(config(hard={"memory.available": "120Mi"})) == [], "a hard one goes by the kernel's estimate"


def test_an_amount_of_less_than_a_byte_is_named() -> None:
    assert warnings(config(hard={"memory.available": "500m"}))[0] == (
        "Warning: memory.available: 500m is less than a byte: it is not met before the node stops working; write its unit, such "
        "as 500Mi, or a percentage."
    )


def test_a_threshold_above_the_capacity_is_named() -> None:
    assert warnings(config(hard={"memory.available": "6Gi"})) == [
        "Warning: memory.available<6Gi is not below the node's 4Gi, so it is always met."
    ]


def test_a_threshold_that_the_world_s_own_share_forestalls_is_named() -> None:
    kubelet = config(hard={"memory.available": "100Mi"}, policy=Policy.KUBELET)
    (warning,) = warnings(kubelet, unusable=150 * MI)
    assert warning == (
        "Warning: memory.available<100Mi can never be met here: 150Mi that no process can allocate (`node.unusableMemory`) count "
        "as available, so the OOM killer acts first."
    )
    assert warnings(kubelet, unusable=50 * MI) == []
    assert warnings(config(hard={"memory.available": "100Mi"}), unusable=150 * MI) == [], "does not count it"


@pytest.mark.parametrize("limit", ["90Mi", "1%", "150Mi"])
def test_a_soft_threshold_that_the_world_s_own_share_forestalls_is_named(limit: str) -> None:
    """With the formula `Auto` it counts that share as available; only hard ones do not."""
    lost, soft = f"memory.available<{limit} can never be met here", {"memory.available": (limit, "30s")}
    (warning,) = warnings(config(hard={"pid.available": "5%"}, soft=soft), unusable=150 * MI)
    assert lost in warning
    assert warning.endswith("so the OOM killer acts first.")
    (warning,) = warnings(config(hard={"memory.available": "50Mi"}, soft=soft), unusable=150 * MI)
    assert lost in warning
    assert "OOM killer" not in warning, "the hard one acts before"


def test_a_group_of_ranking_that_matches_no_pod_is_named() -> None:
    """Both columns of a comparison were the same, and nothing said that the labels were not those of a pod."""
    groups = (PodGroup(labels={"app": "logger"}), PodGroup(namespaces=frozenset({"default"})))
    settings = replace(
        config(hard={"memory.available": "100Mi"}),
        preferences=Preferences(prefer=groups, avoid=(PodGroup(namespaces=frozenset({"b", "a"})),)),
    )
    assert warnings(settings) == [
        "Warning: `ranking.prefer` with the labels app=logger matches no pod of this world, so it changes nothing here.",
        "Warning: `ranking.avoid` of the namespaces a, b matches no pod of this world, so it changes nothing here.",
    ]
    of_kubelet = warnings(replace(settings, policy=Policy.KUBELET))
    assert not any("ranking" in each for each in of_kubelet), "it has no `ranking`"


def test_a_pod_that_requests_more_than_the_node_has_is_named() -> None:
    """A pod that requests 9Gi was played on a node of 2Gi without a word."""
    settings, node = config(hard={"memory.available": "100Mi"}), NodeSpec(memory=2 * GI)
    (warning,) = warnings_text(play(world(holder("db", MI, memory="9Gi"), *quiet(1), node=node), settings))
    assert warning == (
        "Warning: default/db (9Gi) requests more memory than the 2Gi that pods can have on this node; the scheduler places no "
        "such pod on it."
    )
    assert not list(warnings_text(play(world(holder("db", MI, memory="2Gi"), node=node), settings)))


def test_a_pod_that_is_larger_than_the_node_is_named() -> None:
    run = play(world(holder("db", 3 * GI), node=NodeSpec(memory=2 * GI)), config(hard={"memory.available": "100Mi"}))
    (warning,) = warnings_text(run)
    assert warning == (
        "Warning: default/db holds 3Gi of memory from its start on, more than the 2Gi that processes can have on this node, so "
        "the kernel kills."
    )


def test_growth_of_a_few_bytes_a_second_is_named() -> None:
    """`rate: 10` was played as 10 bytes a second, and nothing ever happened."""
    (warning,) = warnings_text(play(world(hog(rate=10)), config(hard={"memory.available": "100Mi"})))
    assert warning == "Warning: default/hog grows by 10 bytes of memory a second; write a unit, such as `rate: 10Mi`."
    processes = play(world(hog(of=Usage.PROCESSES, rate=10)), config(hard={"memory.available": "100Mi"}))
    assert not list(warnings_text(processes))


def test_an_owner_that_is_not_declared_and_starts_no_pod_again_is_named() -> None:
    """A pod of a DaemonSet went for good, and nothing said why no successor came."""
    owned = replace(hog(), pod=replace(hog().pod, owner="DaemonSet/hog"))
    settings = config(hard={"memory.available": "100Mi"})
    story = world(owned, *quiet(2))
    assert list(ownerless_texts(play(story, settings))) == [
        "Warning: DaemonSet/hog starts no pod again, as it is not in the world's `owners`."
    ]
    assert not list(ownerless_texts(play(replace(story, owners=(Owner(name="DaemonSet/hog"),)), settings)))
    assert not list(ownerless_texts(play(world(*quiet(2)), settings)))


def test_the_pods_that_the_pid_limit_bounds_are_named() -> None:
    bomb = hog(of=Usage.PROCESSES, rate=10)
    story = world(bomb, *quiet(2))
    bounded = replace(
        story, pods=tuple(replace(each, behaviours=within_pids(each.behaviours, 64)) for each in story.pods)
    )
    run = play(bounded, config(hard={"pid.available": "10%"}))
    assert list(pids_limit_texts(story, run)) == ["`podPidsLimit` is played: beyond it forks fail in default/hog."]
    assert not list(pids_limit_texts(bounded, run))


def test_a_dry_run_is_said_not_to_be_played() -> None:
    (warning,) = dry_run_texts(dry_run=True)
    assert warning.startswith("Warning: `evictd.dryRun` is not played: here evictions end pods")
    assert not list(dry_run_texts(dry_run=False))


@pytest.mark.parametrize(
    ("rate", "threshold", "left"), [(300, "10Mi", "32ms"), (300, "120Mi", "399ms"), (100, "120Mi", "")]
)
def test_an_eviction_that_a_real_reaction_would_make_too_late_is_named(rate: int, threshold: str, left: str) -> None:
    """`The kernel killed nothing` with 32 ms left, where evictd reacts in 9 to 464 ms (world 32 with 10Mi)."""
    played = play(world(hog(rate=rate * MI), *quiet(3)), config(hard={"memory.available": threshold}))
    assert not played.kills
    found = [each for each in warnings_text(played) if "was ended only" in each]
    text = (
        f"Warning: default/hog was ended only {left} before nothing would have been left. evictd takes 9 to 464 ms to react "
        "(docs/benchmarks.md), and here none: on a real node the OOM killer can act first."
    )
    assert found == ([text] if left else [])


def test_what_is_taken_while_a_pod_ends_counts_for_the_time_left() -> None:
    played = play(world(hog(rate=300 * MI), *quiet(3)), config(hard={"memory.available": "500Mi"}))
    during = replace(played, while_ending={Signal.MEMORY_AVAILABLE: [(each.at, 30 * MI) for each in played.cycles]})
    assert any("was ended only 100ms before" in each for each in warnings_text(during))
    assert not any("was ended only" in each for each in warnings_text(replace(during, happened=())))


def test_thresholds_of_the_world_that_a_configuration_replaces_by_none_are_named() -> None:
    """Under a file with another `memory.available` alone the world's thresholds for disks and its soft ones were gone."""
    hard = {"memory.available": "100Mi", "nodefs.available": "10%"}
    own = config(hard=hard, soft={"memory.available": ("1Gi", "30s")})
    run = play(world(*quiet(1)), config(hard={"memory.available": "500Mi"}))
    (text,) = dropped_texts(own, run)
    assert text == (
        "Warning: the world's nodefs.available<10%, memory.available<1Gi for 30s are not played: a configuration replaces all "
        "thresholds. Write them into the configuration to keep them."
    )
    assert [*dropped_texts(own, play(world(*quiet(1)), replace(own, policy=Policy.KUBELET)))] == []


def test_thresholds_that_are_replaced_by_defaults_are_named_with_these() -> None:
    """A file with soft thresholds alone, as of `advise`, played the defaults for the world's hard ones without a word."""
    own = config(hard={"memory.available": "100Mi", "nodefs.available": "5%"})
    soft = {"evictionSoft": {"nodefs.available": "15%"}, "evictionSoftGracePeriod": {"nodefs.available": "30s"}}
    (text,) = dropped_texts(own, play(world(*quiet(1)), eviction_config(soft, policy=Policy.STANDARD)))
    assert text.startswith(
        "Warning: the world's nodefs.available<5% is not played: a configuration replaces all thresholds; by default it has "
        "nodefs.available<10%"
    )
    assert "memory.available" not in text, "the default is the same"

"""docs/cluster.md: what it says of pods that come back is what evictd decides when such a node is played."""

import re
from dataclasses import replace
from itertools import pairwise

import yaml

from evictd.commands.inputs.source import own_config
from evictd.core.model.config import Policy
from evictd.core.units.duration import MINUTE, SECOND
from evictd.world.account import account_of
from evictd.world.file import decode_world
from evictd.world.loop import play
from tests.docs.test_cluster import text_of

LOGGER = """
kind: World
name: daemon-set-above-its-request
config:
  evictionHard: {memory.available: 500Mi}
  evictionSoft: {memory.available: 1Gi}
  evictionSoftGracePeriod: {memory.available: 1m30s}
  evictionMaxPodGracePeriod: 60
duration: 30m
node: {memory: 8Gi, unusableMemory: 170Mi}
pods:
- name: logger
  owner: DaemonSet/logger
  requests: {memory: 200Mi}
  behaviours: [{hold: {of: memory, amount: 900Mi}}]
- name: web
  count: 6
  requests: {memory: 1200Mi}
  behaviours: [{hold: {of: memory, amount: 1000Mi}}, {grow: {of: memory, rate: 100Ki, bound: 130Mi}}]
owners: [{name: DaemonSet/logger, tolerates: true, delay: 2s}]
"""
"""A log DaemonSet above its request, beside pods that grow within theirs, under the thresholds of a node of 8 GiB."""


def evicted_at(*, tolerates: bool, soft_alone: bool = False) -> list[int]:
    """Return the times of the evictions on that node; `soft_alone`: under its soft threshold, with no other pod to evict."""
    document = yaml.safe_load(LOGGER)
    if soft_alone:
        document["config"]["evictionHard"] = {"memory.available": "100Mi"}
        document["config"]["evictionSoftGracePeriod"]["memory.available"] = "1s"
        document["pods"][1] |= {"static": True, "behaviours": [{"hold": {"of": "memory", "amount": "1130Mi"}}]}
        document["duration"] = "20m"
    file = decode_world(document)
    world = replace(file.world, owners=tuple(replace(each, tolerates=tolerates) for each in file.world.owners))
    losses = account_of(play(world, own_config(file, Policy.STANDARD))).losses
    assert {(loss.slot, loss.cause) for loss in losses} == {("default/logger", "memory.available")}
    return [loss.decided_at for loss in losses]


def back_off() -> str:
    section = text_of("cluster.md").partition("## How a pod is evicted")[2].partition(" ## ")[0]
    return section.partition("* **Back-off**")[2]


def test_no_back_off_holds_under_a_hard_threshold_and_the_page_says_so() -> None:
    """It said that evictd skips the owner's pods there "for at most 10 s"; they are evicted each time that they come back."""
    assert "**Under a hard threshold there is none**" in back_off()
    (every,) = re.findall(r"evicted each time \((\d+) times in five minutes\)", back_off())
    times = evicted_at(tolerates=True)
    assert max(sum(0 <= at - begin < 5 * MINUTE for at in times) for begin in times) == int(every)
    assert min(later - at for at, later in pairwise(times)) < 10 * SECOND


def test_under_a_soft_threshold_each_eviction_doubles_the_back_off_as_the_page_says() -> None:
    assert "evictd skips its pods for 10 s, then 20, up to 5 minutes" in back_off()
    _, *pauses = (later - at for at, later in pairwise(evicted_at(tolerates=True, soft_alone=True)))
    assert [pause // (10 * SECOND) for pause in pauses] == [1, 2, 4, 8, 16, 30, 30]


def test_the_page_has_the_price_of_the_tolerations_and_of_no_taints() -> None:
    """It offered them "to let it come back under pressure", and `taints: false`, without a word of what follows."""
    section = text_of("cluster.md").partition("### DaemonSets and evictd's taints")[2].partition("### ")[0]
    (many, few) = re.findall(r"(\d+) evictions in 30 minutes against (\d+)", section)[0]
    assert [len(evicted_at(tolerates=each)) for each in (True, False)] == [int(many), int(few)]
    assert "with `taints: false` all come back, at the same price" in section
    for ends in ("keep evictd's taints on", "do not tolerate them", "limit", "mend the owner"):
        assert ends in back_off(), ends
    assert (
        "(cluster.md#how-a-pod-is-evicted)"
        in text_of("troubleshooting.md").partition("### The pod comes back")[2].partition("### ")[0]
    )

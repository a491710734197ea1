"""Plays worlds for the tests of what is shown of them."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from evictd.commands.inputs.source import own_config, read_story
from evictd.core.model.config import Policy
from evictd.core.units.duration import MINUTE, SECOND
from evictd.render.simulation.worlds.world_outcome import PlayedWorld, outcome_text
from evictd.world.account import account_of
from evictd.world.behaviours import Hold, Unreadable, Usage
from evictd.world.file import WorldFile
from evictd.world.loop import Run, play
from evictd.world.model import World, WorldPod
from tests.playbook import config, pod
from tests.stories import ROOT
from tests.world.worlds import GI, HARD, MI, hog, holder, world


def played(of: World, policy: Policy = Policy.STANDARD, hard: Mapping[str, str] = HARD) -> PlayedWorld:
    """A world that was played."""
    run = play(of, config(hard=dict(hard), policy=policy))
    unattended = play(of, config())
    return PlayedWorld(name=f"policy {policy.value}", run=run, account=account_of(run), unattended=unattended)


def incident_run(name: str, policy: Policy = Policy.STANDARD) -> Run:
    """The run of a recorded incident."""
    file = read_story(ROOT / "config" / "incidents" / f"{name}.yaml")
    assert isinstance(file, WorldFile)
    return play(file.world, own_config(file, policy))


def incident_texts(name: str, policy: Policy = Policy.STANDARD) -> list[str]:
    """The conclusion of a recorded incident."""
    run = incident_run(name, policy)
    return outcome_text(run, account_of(run), play(run.world, replace(run.config, thresholds=())))


def unread_leak_run(since: int, *, alone: bool = False) -> Run:
    """A leak of 20Mi a second beside eight pods, whose statistics end after `since` seconds.

    Unless it is alone another pod is never measured, so the rest of the pods' cgroup is not the leak's alone.
    """
    leak = hog(Unreadable(start=since * SECOND), rate=20 * MI, name="leak", memory="256Mi")
    unread = WorldPod(
        pod=pod("quiet", memory="64Mi"), behaviours=(Hold(of=Usage.MEMORY, amount=MI), Unreadable(start=0))
    )
    web = [holder(f"web-{i}", 250 * MI, memory="300Mi") for i in range(8)]
    return play(
        world(leak, *(() if alone else (unread,)), *web, memory=8 * GI, duration=10 * MINUTE),
        config(hard={"memory.available": "500Mi"}),
    )


ONE_DISK = """
kind: World
config: {evictionHard: {nodefs.available: 10%, imagefs.available: 15%}}
duration: 5m
node: {memory: 8Gi, nodefs: {capacity: 100Gi, used: 40Gi}}
pods:
- {name: leak, owner: ReplicaSet/leak, behaviours: [{grow: {of: layer, rate: 10Gi/1m}}, {stops: {after: 10s}}]}
- {name: big, volumes: [{name: data}], behaviours: [{grow: {of: volume, rate: 4Gi/1m}}, {ignoresTerm: {}}]}
- {name: web, count: 3, requests: {ephemeral-storage: 1Gi}, behaviours: [{hold: {of: layer, amount: 300Mi}}]}
"""


def one_disk_run(folder: Path) -> Run:
    """The run of a node with one disk; `folder` takes the file of its world."""
    (path := folder / "world.yaml").write_text(ONE_DISK)
    file = read_story(path)
    assert isinstance(file, WorldFile)
    return play(file.world, own_config(file, Policy.STANDARD))

"""Holds what `evictd incident` says of the first and the last eviction of each world of config/incidents against the world."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from evictd.cli import main
from evictd.codec.records.journal_record import decode_record
from evictd.commands.inputs.source import own_config
from evictd.commands.played.world_journal import journal_lines
from evictd.core.model.config import EvictionConfig
from evictd.core.model.decision import EvictPod
from evictd.core.model.signal import SIGNALS, Resource, Signal
from evictd.core.model.threshold import ThresholdValue
from evictd.core.units.duration import MINUTE, SECOND, parse_duration
from evictd.core.units.quantity import parse_quantity
from evictd.render.history.evictions import evictions_of
from evictd.world.account import Account, Loss, Verdict, account_of
from evictd.world.behaviours import Behaviour, Burst, Grow, Hold, LeakAndRelease, TakeRest, Usage, amount
from evictd.world.lifecycle import PodArrival
from evictd.world.loop import Run, play
from evictd.world.model import World, WorldPod
from evictd.world.oracle import OF_RESOURCE
from tools.incidents import incident_files, read_incident

pytestmark = pytest.mark.slow

END = 1_800_000_000 * SECOND
SHORTER = {"42-budget-of-one": 3 * MINUTE}
"""Worlds that are played for a part of their time: evictd asks there each second."""
OUTSIDE = {
    Resource.MEMORY: (Usage.MEMORY,),
    Resource.EPHEMERAL_STORAGE: (Usage.HOST_PATH, Usage.IMAGE_DISK),
    Resource.INODES: (Usage.HOST_PATH_INODES,),
    Resource.PIDS: (Usage.PROCESSES,),
}
"""What the host takes; of a pod only what lies in a hostPath volume is no pod's."""


@dataclass(frozen=True, slots=True)
class Told:
    """A world, what happened in it, and what is said of two of its evictions."""

    world: World
    config: EvictionConfig
    run: Run
    account: Account
    said: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    """By the time of the eviction in the world: the document of the incident."""

    def slot(self, pod: str) -> str:
        """The pod of the world that a pod was, or a successor of."""
        arrivals = (each.event for each in self.run.happened if isinstance(each.event, PodArrival))
        return next((each.slot for each in arrivals if each.name == pod), pod)

    def begun(self, spec: WorldPod, at: int) -> int:
        """When the pod of a place came that was there at a time."""
        slot = spec.pod.full_name
        came = [
            each.at
            for each in self.run.happened
            if isinstance(each.event, PodArrival) and each.event.slot == slot and each.at <= at
        ]
        return max(came, default=spec.start)

    def grown(self, at: int, since: int, resource: Resource) -> tuple[dict[str, int], int]:
        """By how much each pod grew in a time, and by how much what belongs to no pod."""
        pods, outside = dict[str, int](), 0
        for spec in self.world.pods:
            age = at - (begun := self.begun(spec, at))
            before = max(since - begun, 0)
            own = (
                set(OF_RESOURCE[resource]) - set(OUTSIDE[resource]) if resource in DISK else set(OF_RESOURCE[resource])
            )
            pods[spec.pod.full_name] = _grown(spec.behaviours, own, before, age, new=since < begun)
            if resource in DISK:
                outside += _grown(spec.behaviours, set(OUTSIDE[resource]), before, age)
        for host in self.world.host:
            outside += _grown(host.behaviours, {*OF_RESOURCE[resource], *OUTSIDE[resource]}, since, at)
        return pods, outside


DISK = {Resource.EPHEMERAL_STORAGE, Resource.INODES}


def _grown(behaviours: tuple[Behaviour, ...], usages: set[Usage], before: int, age: int, *, new: bool = False) -> int:
    grown = 0
    for each in behaviours:
        if isinstance(each, Hold | Grow | LeakAndRelease | Burst) and each.of in usages:
            grown += amount(each, age) - (0 if new else amount(each, before))
        elif isinstance(each, TakeRest) and Usage.MEMORY in usages:
            grown += each.rate * (age - before) // SECOND
    return grown


@pytest.fixture(scope="module", params=incident_files(), ids=lambda path: path.stem)
def told(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Told:
    """A world that was played, and what is said of its first eviction and its last one."""
    path: Path = request.param
    file = read_incident(path)
    world, config = replace(file.world, duration=SHORTER.get(path.stem, file.world.duration)), own_config(file)
    run = play(world, config)
    lines, directory = journal_lines(run, end=END), tmp_path_factory.mktemp(path.stem)
    (directory / "journal.jsonl").write_bytes(b"".join(lines))
    records = [decode_record(line) for line in lines]
    times = {record.wall: record.now for record in records}
    found = evictions_of(records)
    said = {}
    for each in dict.fromkeys((each.uid, times[each.at]) for each in (*found[:1], *found[-1:])):
        out = directory / "incident.json"
        with pytest.MonkeyPatch.context() as patch, out.open("w") as to:
            patch.setattr("sys.stdout", to)
            assert main(["incident", each[0], "--journal", str(directory), "--output", "json"]) == 0
        said[each[1]] = json.loads(out.read_text())
    return Told(world=world, config=config, run=run, account=account_of(run), said=said)


GREW = re.compile(r"(?P<pod>[^ ]+/[^ ]+) (grew|filled)")


def evictions_for_pressure(told: Told) -> Iterator[tuple[int, Mapping[str, Any], Resource]]:
    """The time, the document and the resource of each eviction that is told."""
    for at, document in told.said.items():
        if document["signal"] is not None:
            yield at, document, SIGNALS[Signal(document["signal"])].resource


def test_the_headline_names_what_grew_in_the_world(told: Told) -> None:
    first = min(told.said, default=0)
    for at, document, resource in evictions_for_pressure(told):
        pods, outside = told.grown(at, max(first - MINUTE, 0), resource)
        summary = document["summary"]
        if (named := GREW.match(summary)) is not None:
            grown = pods[told.slot(named["pod"])]
            assert grown * 10 >= max(pods.values()) * 9, f"{summary}: {pods}"
            assert grown >= outside, f"{summary}: {outside} of no pod"
        of_no_pod = "belongs to no pod" in summary
        assert of_no_pod is (outside > sum(pods.values())), f"{summary}: {pods}, {outside} of no pod"


def test_what_is_said_of_the_need_agrees_with_the_account(told: Told) -> None:
    for _, document, _ in evictions_for_pressure(told):
        losses: list[Loss] = [each for each in told.account.losses if each.uid == document["uid"]]
        said = document["account"]
        if said.startswith("its end was needed") and losses:
            assert losses[0].verdict is not Verdict.INNOCENT, f"{said}: {losses[0].why}"
        if said.startswith("its end was not needed") and losses:
            assert losses[0].verdict is not Verdict.CULPRIT, said


LIMIT = re.compile(
    r"a (request and a )?limit of at most (?P<amount>[^ ]+) of memory: the kernel would have ended it there"
)
REQUEST = re.compile(r"a request of (?P<amount>[^ ]+) of (?P<of>[^ ]+) \(it had [^)]+\): (?P<said>.*)")
GOES = re.compile(r"(?P<pod>[^ ]+/[^ ]+) (\([^)]*\) )?(of the same owner )?would have gone")
SOFT = re.compile(
    r"a soft threshold of (?P<amount>[^ ]+)( \(it was [^)]+\))?( with a grace period of (?P<grace>[^ :]+))?: "
    r".*, and a pod would have gone (?P<earlier>\d+) s earlier"
)


def with_pod(told: Told, slot: str, change: Callable[[WorldPod], WorldPod]) -> World:
    """The world with another spec of one pod and its successors."""
    pods = (change(each) if each.pod.full_name == slot else each for each in told.world.pods)
    return replace(told.world, pods=tuple(pods))


def amounts(slot: str, told: Told, name: str, most: str, *, limit: bool) -> World:
    """The world in which the pod of a place has this limit or request; a request is lowered to its limit."""
    quantity = parse_quantity(most)

    def changed(spec: WorldPod) -> WorldPod:
        (container,) = spec.pod.containers
        had = container.requests.get(name)
        requests, limits = dict(container.requests), dict(container.limits)
        if limit:
            limits[name] = quantity
        if not limit or (had is not None and had.value() > quantity.value()):
            requests[name] = quantity
        container = replace(container, requests=requests, limits=limits)
        return replace(spec, pod=replace(spec.pod, containers=(container,)))

    return with_pod(told, slot, changed)


def first_eviction(world: World, config: EvictionConfig) -> tuple[int, str]:
    """When the first eviction is decided, and of which pod; the end of the world and no name for none."""
    last = play(world, config, until_eviction_after=-1).cycles[-1]
    evicted = (each for each in last.step.decisions if isinstance(each, EvictPod))
    return next(((last.at, each.pod.full_name) for each in evicted), (world.duration, ""))


def test_the_remedies_are_true_where_they_are_played(told: Told) -> None:
    """Of the first eviction: up to it the world is as it was."""
    at = min(told.said, default=0)
    document = told.said.get(at, {"avoidedBy": (), "notAvoidedBy": ()})
    for text in (*document["avoidedBy"], *document["notAvoidedBy"]):
        slot = told.slot(document["pod"])
        if (found := LIMIT.match(text)) is not None:
            _, pod = first_eviction(amounts(slot, told, "memory", found["amount"], limit=True), told.config)
            assert told.slot(pod) != slot, text
        elif (found := REQUEST.match(text)) is not None:
            then, pod = first_eviction(amounts(slot, told, found["of"], found["amount"], limit=False), told.config)
            if "it would have gone all the same" in found["said"]:
                assert pod == document["pod"], f"{text}: {pod}"
            elif (other := GOES.match(found["said"])) is not None:
                assert pod == other["pod"], f"{text}: {pod}"
            elif "evictd would have ended no pod at that moment" in found["said"]:
                assert then > at, f"{text}: {pod}"
            else:
                assert "would request" in found["said"], text
        elif (found := SOFT.match(text)) is not None:
            config = with_soft(told.config, document["signal"], found["amount"], found["grace"])
            last = play(told.world, config, until_eviction_after=-1).cycles[-1]
            evicted = next(each for each in last.step.decisions if isinstance(each, EvictPod))
            assert evicted.pod.full_name == document["pod"], text
            assert evicted.because.threshold is not None, text
            assert not evicted.because.threshold.hard, f"{text}: it went for the hard one"
            least = 10 * SECOND if found["grace"] else int(found["earlier"]) * SECOND // 2
            assert least <= at - last.at <= 90 * SECOND, f"{text}: {(at - last.at) / SECOND} s earlier"


def with_soft(config: EvictionConfig, signal: str, limit: str, grace: str | None) -> EvictionConfig:
    """The configuration with another soft threshold of a signal; without a grace period with the one that it has."""
    known = next(each for each in config.thresholds if each.signal.value == signal)
    soft = replace(known, value=ThresholdValue(quantity=parse_quantity(limit)))
    had = max(each.grace_period for each in config.thresholds if each.signal is known.signal)
    soft = replace(soft, grace_period=parse_duration(grace) if grace else had)
    others = [each for each in config.thresholds if each.signal.value != signal or each.hard]
    return replace(config, thresholds=(*others, soft))

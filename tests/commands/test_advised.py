"""Plays what `evictd advise` proposes: what it claims of the recorded evictions has to hold where it is set."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from evictd.advice.episode import RESERVE
from evictd.advice.evidence import NodeEvidence, node_evidence
from evictd.advice.proposal import advise
from evictd.advice.reservation import LEAST_READINGS
from evictd.cli import main
from evictd.codec.records.reading_record import decode_reading
from evictd.core.model.signal import SIGNALS, Resource, Signal
from evictd.core.units.quantity import parse_quantity

pytestmark = pytest.mark.slow

LISTS = ("evictionHard", "evictionSoft", "evictionSoftGracePeriod", "evictionMinimumReclaim")
CONFIGS: dict[str, dict[str, Any]] = {
    "hard": {"evictionHard": {"memory.available": "100Mi"}},
    "high": {"evictionHard": {"memory.available": "700Mi"}},
    "soft": {
        "evictionHard": {"memory.available": "300Mi"},
        "evictionSoft": {"memory.available": "1Gi"},
        "evictionSoftGracePeriod": {"memory.available": "1m"},
        "evictionMaxPodGracePeriod": 30,
    },
}
DISKS = {"nodefs.inodesFree": ("volumeInodes", "300"), "nodefs.available": ("volume", "20Mi")}
"""What is taken by the signal, and how fast."""
EVERY = {"10Mi": 25, "100Mi": 10, "300Mi": 10, "40Mi 80Mi 300Mi": 10}
"""Minutes from one leak to the next, by the rates that the leaks have in turn."""


def world(config: dict[str, Any], rate: str, stop: str) -> dict[str, Any]:
    """Six leaks, one after another, beside pods that hold what they request."""
    rates = rate.split()
    leaks = [
        {
            "name": f"leak-{number}",
            "start": f"{number * EVERY[rate]}m",
            "terminationGracePeriodSeconds": 30,
            "requests": {"memory": "64Mi"},
            "behaviours": [{"grow": {"of": "memory", "rate": rates[number % len(rates)]}}, {"stops": {"after": stop}}],
        }
        for number in range(6)
    ]
    web = {"name": "web", "count": 4, "requests": {"memory": "400Mi"}}
    web["behaviours"] = [{"hold": {"of": "memory", "amount": "256Mi"}}]
    node, duration = {"memory": "8Gi"}, f"{6 * EVERY[rate] + 5}m"
    return {
        "kind": "World",
        "name": "leaks",
        "config": config,
        "duration": duration,
        "node": node,
        "pods": [*leaks, web],
    }


def played(
    world: dict[str, Any], directory: Path, capsys: pytest.CaptureFixture[str], policy: str = "Standard"
) -> dict[str, Any]:
    """Play a world, and return the advice of its journal."""
    directory.mkdir()
    file = directory / "world.yaml"
    file.write_text(yaml.safe_dump(world))
    arguments = [str(file), "--policy", policy, "--journal", str(directory / "j"), "--output", "json"]
    assert main(["simulate", *arguments]) in {0, 1}
    capsys.readouterr()
    assert main(["advise", str(directory / "j"), "--output", "json"]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def applied(config: dict[str, Any], advice: dict[str, Any]) -> dict[str, Any]:
    """The configuration with what is proposed; of its lists only what is named there, or to be kept."""
    proposed, keep = advice["configuration"]["kubelet"], advice["keep"]
    kept = {"evictionSoftGracePeriod": keep["evictionSoft"], **keep}
    after = {**config, **proposed}
    for name in LISTS:
        own = {signal: value for signal, value in config.get(name, {}).items() if signal in kept.get(name, [])}
        after[name] = {**own, **proposed.get(name, {})}
    return {name: value for name, value in after.items() if value not in ({}, None)}


@pytest.mark.parametrize(
    ("rate", "stop"),
    [("10Mi", "5s"), ("100Mi", "500ms"), ("100Mi", "20s"), ("300Mi", "5s"), ("40Mi 80Mi 300Mi", "5s")],
)
@pytest.mark.parametrize("config", list(CONFIGS))
def test_what_is_claimed_of_the_proposal_holds_where_it_is_set(
    config: str, rate: str, stop: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """300Mi were lowered to 104Mi, with which each of six evictions was too late.

    With 176Mi instead of 100Mi a pod that took 80Mi a second got a grace period that it had not had, and used up 80Mi more.
    """
    before = world(CONFIGS[config], rate, stop)
    first = played(before, tmp_path / "first", capsys)
    [memory] = [each for each in first["signals"] if each["signal"] == "memory.available"]
    assert memory["proposed"], f"{memory}"
    after = {**before, "config": applied(CONFIGS[config], first), "evictd": first["configuration"]["evictd"]}
    played(after, tmp_path / "second", capsys)
    lines = (tmp_path / "second" / "j" / "journal.jsonl").read_bytes().splitlines()
    episodes = [
        each
        for each in node_evidence("n", [decode_reading(line) for line in lines]).episodes
        if each.signal is Signal.MEMORY_AVAILABLE
    ]
    reading = max(parse_quantity(each).value() for each in rate.split()) // 10  # the watch looks each tenth of a second
    least = RESERVE[SIGNALS[Signal.MEMORY_AVAILABLE].resource] - reading
    left = [each.available - each.used for each in episodes]
    if memory["enough"] == memory["evictions"]:
        assert min(left) >= least, f"{after['config']}: {[each >> 20 for each in left]}"


@pytest.mark.parametrize(("policy", "own"), [("Kubelet", {}), ("Standard", {"memory": {"formula": "WorkingSet"}})])
def test_memory_that_no_process_can_allocate_is_not_what_was_left(
    policy: str, own: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """300Mi were lowered to 176Mi, of which 200Mi cannot be allocated: the kernel killed 13 processes with it."""
    leak = {
        "name": "leak",
        "owner": "ReplicaSet/leak",
        "requests": {"memory": "256Mi"},
        "behaviours": [{"grow": {"of": "memory", "rate": "60Mi", "start": "2m"}}, {"stops": {"after": "3s"}}],
    }
    before: dict[str, Any] = {
        "kind": "World",
        "name": "kubelet",
        "config": {"evictionHard": {"memory.available": "300Mi"}},
        "evictd": own,
        "duration": "1h30m",
        "node": {"memory": "8Gi", "unusableMemory": "200Mi"},
        "pods": [leak],
        "host": [{"name": "system", "behaviours": [{"hold": {"of": "memory", "amount": "500Mi"}}]}],
        "owners": [{"name": "ReplicaSet/leak", "delay": "5s"}],
    }
    first = played(before, tmp_path / "first", capsys, policy)
    [memory] = first["signals"]
    assert (memory["tooLate"], memory["hard"] > 300 << 20) == (memory["evictions"], True)
    second = played({**before, "config": applied(before["config"], first)}, tmp_path / "second", capsys, policy)
    assert (second["kernelKilled"], second["signals"][0]["tooLate"]) == ([], 0)


@pytest.mark.parametrize("signal", list(DISKS))
def test_the_soft_threshold_that_is_proposed_leaves_a_pod_its_grace_period(
    signal: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The soft one for inodes left out that the decision waits until pods are measured: the grace of 30s was cut to 1s."""
    of, rate = DISKS[signal]
    fills = {
        "name": "fills",
        "owner": "ReplicaSet/fills",
        "volumes": [{"name": "d"}],
        "behaviours": [{"grow": {"of": of, "rate": rate}}, {"ignoresTerm": {}}],
    }
    disk = {"capacity": "20Gi", "inodes": 200000, "inodesUsed": 30000}
    config = {"evictionHard": {"nodefs.available": "10%", "nodefs.inodesFree": "5%"}}
    before = {
        "kind": "World",
        "name": "disk",
        "config": config,
        "duration": "2h20m",
        "node": {"memory": "2Gi", "nodefs": disk},
        "pods": [fills],
        "owners": [{"name": "ReplicaSet/fills", "delay": "10s"}],
    }
    first = played(before, tmp_path / "first", capsys)
    [advised] = [each for each in first["signals"] if each["signal"] == signal]
    assert advised["soft"], f"{advised}"
    played({**before, "config": applied(config, first)}, tmp_path / "second", capsys)
    lines = (tmp_path / "second" / "j" / "journal.jsonl").read_bytes().splitlines()
    episodes = node_evidence("n", [decode_reading(line) for line in lines]).episodes
    assert len(episodes) > 3
    assert not [each for each in episodes if each.hard or each.shortened]


def test_pods_that_fill_their_requests_stay_with_the_reserved_disk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the 30Gi in use outside pods reserved alone, a pod within its request met the soft threshold of 18Gi."""
    config = {
        "evictionHard": {"nodefs.available": "10%", "imagefs.available": "15%"},
        "evictionSoft": {"imagefs.available": "18Gi"},
        "evictionSoftGracePeriod": {"imagefs.available": "30s"},
    }
    gi, pods, capacity = 1 << 30, 4, 100

    def evictions(reserved: int, name: str) -> tuple[int, NodeEvidence]:
        asked = f"{(capacity * gi - reserved) // pods}"
        app: dict[str, Any] = {"name": "app", "count": pods, "requests": {"ephemeral-storage": asked}}
        app["behaviours"] = [{"grow": {"of": "logs", "rate": "60Mi", "bound": asked}}]
        node = {"memory": "16Gi", "nodefs": {"capacity": f"{capacity}Gi", "used": "30Gi"}}
        world = {"kind": "World", "name": "full", "config": config, "duration": "10m", "node": node, "pods": [app]}
        played(world, tmp_path / name, capsys)
        lines = (tmp_path / name / "j" / "journal.jsonl").read_bytes().splitlines()
        evidence = node_evidence("n", [decode_reading(line) for line in lines])
        return len(evidence.episodes), evidence

    went, evidence = evictions(30 * gi, "alone")
    assert went
    enough = replace(evidence, outside_readings={Resource.EPHEMERAL_STORAGE: LEAST_READINGS})
    [reserved] = [each for each in advise([enough], 99).reserved if each.resource is Resource.EPHEMERAL_STORAGE]
    assert reserved.proposed
    assert 48 * gi <= reserved.amount <= 50 * gi
    assert evictions(reserved.amount, "covered")[0] == 0

"""Checks that a world file is read as written, and that each fault is reported with its place and a remedy."""

from typing import Any

import pytest

from evictd.config.file import load_yaml
from evictd.core.model.config import EvictionMethod
from evictd.core.model.oom import node_critical
from evictd.core.model.pod import PodSource
from evictd.core.units.duration import MINUTE, SECOND
from evictd.errors import InputError
from evictd.world.behaviours import Burst, Exits, Grow, Hold, LeakAndRelease, Stalls, Stops, TakeRest, Unreadable, Usage
from evictd.world.file import WorldFile, decode_world
from evictd.world.model import Disk, DisruptionBudget, Fault, HostUse, Outage, Owner, Unread

GI, MI = 1 << 30, 1 << 20
FULL = """
kind: World
name: all
source: kubernetes/kubernetes#1
config: {evictionHard: {memory.available: 500Mi}}
duration: 20m
seed: 7
node:
  memory: 8Gi
  nodefs: {capacity: 20Gi}
  imagefs: {capacity: 10Gi}
  images: [{name: app, size: 1Gi}]
pods:
- name: hog
  count: 2
  owner: ReplicaSet/hog
  image: app
  requests: {memory: 6Gi, cpu: 2}
  allocated: {memory: 64Mi}
  volumes: [{name: data, sizeLimit: 1Gi}]
  deletedAt: 5m
  behaviours:
  - hold: {of: memory, amount: 50Mi}
  - grow: {of: volume, rate: 600Mi/10m, start: 30s, bound: 2Gi}
  - leakAndRelease: {of: pageCache, rate: 1Mi/s, peak: 1Gi}
  - burst: {of: processes, amount: 500, start: 1m, duration: 20s, every: 5m, rate: 100}
  - takeRest: {rate: 100Mi, leave: 64Mi}
  - stops: {after: 5s}
  - ignoresTerm: {}
  - exits: {after: 5m}
  - unreadable: {duration: 30s, every: 1m}
  - stalls: {memory: 40}
- {name: etcd, namespace: kube-system, static: true}
owners: [{name: ReplicaSet/hog, delay: 3s, here: 0.5, tolerates: true}]
host: [{name: slab, behaviours: [{grow: {of: memory, rate: 10Mi}}]}]
apiServer: {budgets: [{pods: [default/hog-0]}], outages: [{start: 1m, duration: 1m, status: 403}]}
faults: [{unread: disk, start: 1m, duration: 10s}]
expect: {innocents: 0, culpritGoneWithin: 30s, findings: [ProtectedCulprit], evicted: [default/hog-0]}
"""


def test_the_priority_of_a_class_gives_the_class() -> None:
    """The kernel was said to kill a pod of system-node-critical first, whose oom_score_adj is -997."""
    pods = "pods: [{name: a, priority: 2000001000, static: true}, {name: b, priority: 2000000000}]"
    found = read(f"kind: World\nname: w\nnode: {{memory: 1Gi}}\n{pods}\n").world.pods
    assert [each.pod.priority_class_name for each in found] == ["system-node-critical", ""]
    assert [node_critical(each.pod) for each in found] == [True, False]


def read(text: str) -> WorldFile:
    """A world of a YAML text."""
    document: Any = load_yaml(text)
    return decode_world(document)


def test_everything_that_can_be_written() -> None:
    found = read(FULL)
    world = found.world
    assert (world.name, world.source, world.duration, world.seed) == ("all", "kubernetes/kubernetes#1", 20 * MINUTE, 7)
    assert (world.node.memory, world.node.nodefs, world.node.imagefs) == (
        8 * GI, Disk(capacity=20 * GI), Disk(capacity=10 * GI),
    )  # fmt: skip
    assert [pod.pod.full_name for pod in world.pods] == ["default/hog-0", "default/hog-1", "kube-system/etcd"]
    assert len({pod.pod.uid for pod in world.pods}) == 3
    hog, etcd = world.pods[0], world.pods[2]
    assert hog.behaviours == (
        Hold(of=Usage.MEMORY, amount=50 * MI),
        Grow(of=Usage.VOLUME, rate=MI, start=30 * SECOND, bound=2 * GI),
        LeakAndRelease(of=Usage.PAGE_CACHE, rate=MI, peak=GI),
        Burst(
            of=Usage.PROCESSES,
            amount=500,
            start=MINUTE,
            duration=20 * SECOND,
            every=5 * MINUTE,
            rate=100,
        ),
        TakeRest(rate=100 * MI, leave=64 * MI),
        Stops(after=5 * SECOND),
        Stops(after=None),
        Exits(after=5 * MINUTE),
        Unreadable(duration=30 * SECOND, every=MINUTE),
        Stalls(memory=40.0),
    )
    assert hog.pod.resource_totals.memory_request == 64 * MI * 10**9, "the allocated one, as the kubelet ranks"
    assert str(hog.pod.containers[0].requests["memory"]) == "64Mi", "as the API server has it, not as a number of bytes"
    assert hog.pod.containers[0].requests["cpu"].value() == 2
    assert (hog.deleted_at, hog.image, hog.pod.owner) == (5 * MINUTE, "app", "ReplicaSet/hog")
    assert etcd.pod.source is PodSource.STATIC
    assert world.owners == (Owner(name="ReplicaSet/hog", delay=3 * SECOND, here=0.5, tolerates=True),)
    assert world.host == (HostUse(name="slab", behaviours=(Grow(of=Usage.MEMORY, rate=10 * MI),)),)
    assert world.api_server.budgets == (DisruptionBudget(pods=frozenset({"default/hog-0"})),)
    assert world.api_server.outages == (Outage(start=MINUTE, duration=MINUTE, status=403),)
    assert world.faults == (Fault(unread=Unread.DISK, start=MINUTE, duration=10 * SECOND),)
    assert found.expect is not None
    assert found.expect.findings == ("ProtectedCulprit",)


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ("kind: Wrold", "kind: Wrold: is no world; a world has `kind: World`"),
        (
            "pods: [{name: a, behaviours: [{grwo: {}}]}]",
            "pods[0].behaviours[0].grwo: unknown field; did you mean grow?",
        ),
        (
            "pods: [{name: a, behaviours: [{grow: {of: memory, rate: -5Mi}}]}]",
            (
                'pods[0].behaviours[0].grow.rate: "-5Mi": is negative; give an amount per second, such as 50Mi, or for a time, '
                "such as 1Gi/10m"
            ),
        ),
        (
            "pods: [{name: a, behaviours: [{grow: {of: memroy, rate: 5Mi}}]}]",
            "pods[0].behaviours[0].grow.of: memroy: is not known; did you mean memory?",
        ),
        (
            "pods: [{name: a, behaviours: [{grow: {of: memory}}]}]",
            "pods[0].behaviours[0].grow.rate: 0: nothing changes at this rate; give a rate above zero, such as 50Mi",
        ),
        (
            "pods: [{name: a, behaviours: [{grow: {of: processes, rate: 1/10m}}]}]",
            (
                'pods[0].behaviours[0].grow.rate: "1/10m": is less than one in a second; give an amount per second, such as '
                "50Mi, or for a time, such as 1Gi/10m"
            ),
        ),
        (
            "pods: [{name: a, behaviours: [{}]}]",
            "pods[0].behaviours[0]: {}: names no behaviour; write one to an entry, as in `- hold: {...}`",
        ),
        (
            "owners: [{name: ReplicaSet/a}]",
            "owners[0].name: ReplicaSet/a: owns no pod; name it as `owner` of a pod, or remove it",
        ),
        (
            "pods: [{name: a, owner: Job/a}]\nowners: [{name: Job/a, here: .nan}]",
            "owners[0].here: nan: is out of range; give a number from 0 to 1",
        ),
        (
            "pods: [{name: a, behaviours: [{stalls: {memory: .inf}}]}]",
            "pods[0].behaviours[0].stalls.memory: inf: is out of range; give a number from 0 to 100",
        ),
        (
            "pods: [{name: a, behaviours: [{burst: {of: processes, amount: 1, duration: 1ms, every: 2ms}}]}]",
            "pods[0].behaviours[0].burst.every: 2ms: is no longer than `duration`, or less than 1s; give a longer time",
        ),
        (
            "pods: [{name: a, behaviours: [{leakAndRelease: {of: memory, peak: 100Mi, rate: 8Ei}}]}]",
            (
                "pods[0].behaviours[0].leakAndRelease.peak: 104857600: is reached from `low` in less than 1s; "
                "give a higher peak, or a lower rate"
            ),
        ),
        (
            "pods: [{name: a, start: 5m, deletedAt: 1m}]",
            "pods[0].deletedAt: 1m0s: is before `start`; give a later time",
        ),
        (
            "faults: [{unread: memory, start: 2h}]",
            "faults[0].start: 2h0m0s: is after the end of the world; give an earlier time, or a longer `duration`",
        ),
        (
            "pods: [{name: a, start: -5s}]",
            'pods[0].start: "-5s": is negative; give a duration with its unit, such as 1m30s',
        ),
        ("pods: [{name: a}, {name: a}]", "pods: default/a: is there twice; give each pod a name of its own"),
        (
            "pods: [{name: a, allocated: {ephemeral-storage: 1Gi}}]",
            "pods[0].allocated.ephemeral-storage: 1073741824: cannot be resized; give cpu or memory",
        ),
        ("pods: [{name: a, image: x}]", "pods[0].image: x: is no image of the node; add it to `node.images`"),
        (
            "pods: [{name: a, behaviours: [{hold: {of: volume, amount: 1}}]}]",
            "pods[0].volumes: []: a behaviour writes to a volume, and there is none; add `- name: data`",
        ),
        (
            "apiServer: {budgets: [{pods: [a]}]}",
            "apiServer.budgets[0].pods: a: is no pod of this world; name it `namespace/name`",
        ),
        (
            "expect: {findings: [ProtectdCulprit]}",
            "expect.findings[0]: ProtectdCulprit: is no reason of a finding; did you mean ProtectedCulprit?",
        ),
        ("node: {splitLayout: true}", "node.splitLayout: true: needs `imagefs`; add the disk of the images"),
        ("node: {memory: lots}", "node.memory"),
        ("duration: 0s", "duration: 0s: nothing happens in no time; give a duration such as 10m"),
        ("duration: 500h", "duration: 500h0m0s: is longer than 24h0m0s; give a shorter one"),
        (
            "pods: [{name: a, requests: {memory: 3000}, limits: {memory: 2000}}]",
            "pods[0].requests.memory: 3000: is above limits.memory; the API server refuses such a pod; give at most the limit",
        ),
        (
            "pods: [{name: a, requests: {mem: 256Mi}}]",
            "pods[0].requests.mem: 268435456: is an unknown resource; did you mean memory?",
        ),
        (
            "pods: [{name: a, behaviours: [{grow: {of: memory, rate: 80m}}]}]",
            'pods[0].behaviours[0].grow.rate: "80m": is less than one; did you mean 80Mi?',
        ),
        (
            "pods: [{name: a, behaviours: [{grow: {of: memory, rate: 2000m/s}}]}]",
            'pods[0].behaviours[0].grow.rate: "2000m/s": is an amount in thousandths; did you mean 2000Mi/s?',
        ),
        ("node: {memory: 8m}", 'node.memory: "8m": is less than one; did you mean 8Mi?'),
        ("node: {memory: 16}", "node.memory: 16: is less than 16Mi; did you mean 16Gi?"),
        ("node: {memory: 16Ki}", "node.memory: 16384: is less than 16Mi; give the memory of a node, such as 8Gi"),
        (
            "node: {memory: 64Mi, unusableMemory: 64Mi}",
            "node.unusableMemory: 67108864: is all of `node.memory`; give less",
        ),
        (
            "node: {memory: 4Gi}\nhost: [{name: system, behaviours: [{hold: {of: memory, amount: 6Gi}}]}]",
            "host[0].behaviours[0].hold.amount: 6442450944: with it the host holds more than all memory and swap; give less",
        ),
        (
            "node: {nodefs: {capacity: 20Gi, used: 60Gi}}",
            "node.nodefs.used: 64424509440: is above `node.nodefs.capacity`; give at most that",
        ),
        (
            "node: {imagefs: {inodes: 1000, inodesUsed: 1001}}",
            "node.imagefs.inodesUsed: 1001: is above `node.imagefs.inodes`; give at most that",
        ),
        ("node: {memory: '0.5'}", 'node.memory: "0.5": is less than one; give an amount such as 500Mi'),
        (
            "pods: [{name: a, limits: {ram: 256Mi}}]",
            "pods[0].limits.ram: 268435456: is an unknown resource; give cpu, memory, ephemeral-storage",
        ),
    ],
)
def test_each_fault_has_a_place_and_a_remedy(lines: str, problem: str) -> None:
    text = lines if lines.startswith("kind") else f"kind: World\n{lines}"
    with pytest.raises(InputError) as caught:
        read(text)
    assert any(each.startswith(problem) for each in caught.value.problems), caught.value.problems


def test_cpu_and_large_amounts_may_be_in_thousandths() -> None:
    text = "kind: World\npods: [{name: a, requests: {cpu: 1500m, memory: 134217728000m}, limits: {cpu: 2}}]"
    (pod,) = read(text).world.pods
    assert pod.pod.containers[0].requests["memory"].value() == 128 * MI


def test_a_field_of_the_node_beside_it_is_told_its_place() -> None:
    """The remedy was to remove it."""
    with pytest.raises(InputError, match=r"images: unknown field; it is a field of `node`: `node\.images`"):
        decode_world({"kind": "World", "duration": "1m", "images": [{"name": "app", "size": "1Gi"}]})


def test_a_rate_that_is_negative_is_not_reported_as_zero_as_well() -> None:
    with pytest.raises(InputError) as caught:
        read("kind: World\npods: [{name: a, behaviours: [{grow: {of: memory, rate: -1}}]}]")
    assert len(caught.value.problems) == 1


def test_all_faults_are_reported_at_once() -> None:
    with pytest.raises(InputError) as caught:
        read("kind: World\nnode: {memory: -1}\nspeed: 3\npods: [{name: a, count: 0}]")
    assert len(caught.value.problems) == 3


def test_a_pod_that_writes_to_memory_has_a_volume_in_memory() -> None:
    """Its journal had none, so an incident did not know that a restart keeps its files."""
    grows = "behaviours: [{grow: {of: memoryVolume, rate: 1Mi}}]"
    own = "volumes: [{name: own, medium: Memory}]"
    text = f"{{kind: World, pods: [{{name: a, {grows}}}, {{name: b, {own}, {grows}}}], node: {{memory: 1Gi}}}}"
    pods = read(text).world.pods
    assert [[(each.name, each.medium) for each in pod.pod.volumes] for pod in pods] == [
        [("memory", "Memory")],
        [("own", "Memory")],
    ]


@pytest.mark.parametrize(
    ("evictd", "api_server", "ended"),
    [
        ("{}", "{}", EvictionMethod.AUTO),
        ("{}", "{podTermination: Delete}", EvictionMethod.DELETE),
        ("{cluster: {podTermination: EvictionAPI}}", "{}", EvictionMethod.EVICTION_API),
        ("{cluster: {podTermination: Auto}}", "{podTermination: Delete}", EvictionMethod.AUTO),
        ("{cluster: {evictionTimeout: 1m}}", "{podTermination: Delete}", EvictionMethod.DELETE),
    ],
)
def test_pods_are_ended_as_the_world_s_configuration_says(evictd: str, api_server: str, ended: EvictionMethod) -> None:
    """The configuration's `podTermination` was ignored without a word."""
    document = load_yaml(f"kind: World\nevictd: {evictd}\napiServer: {api_server}\n")
    assert isinstance(document, dict)
    world = decode_world(document).world
    assert world.api_server.termination is ended

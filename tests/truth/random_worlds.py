"""Generates world files as an operator may meet them, to compare what evictd says of them with what happens in them.

Each is a document as in a world file, so that a test can change it as a user would and play it again.
"""

from collections.abc import Iterator
from random import Random
from typing import Any

_GROWERS = ("memory", "memory", "memory", "layer", "logs", "volume", "processes")
_KINDS = ("leak", "leak", "two leaks", "burst", "sawtooth", "host", "overcommitted")


def world_document(seed: int) -> dict[str, Any]:
    """Return a world: web pods and a database beside what makes the node short of memory, disk or PIDs; equal for equal seeds."""
    random = Random(seed)
    kind, of = random.choice(_KINDS), random.choice(_GROWERS)
    memory, disk = random.choice([4, 8, 16]), random.choice([20, 50])
    pods = list(_residents(random, memory))
    held = sum(int(each["behaviours"][0]["hold"]["amount"][:-2]) * each.get("count", 1) for each in pods)
    room = memory * 1024 - held
    document: dict[str, Any] = {
        "kind": "World",
        "name": f"seed-{seed}",
        "config": _config(random),
        "evictd": {"decisionPolicy": "Kubelet"} if random.random() < 0.15 else {},
        "duration": f"{random.choice([6, 10, 15])}m",
        "node": {"memory": f"{memory}Gi", "nodefs": {"capacity": f"{disk}Gi"}, "pids": 4000},
        "pods": pods,
        "owners": _owners(random, pods),
    }
    if kind == "host":
        taken = random.choice(["memory", "imageDisk"])
        document["host"] = [{"name": "agent", "behaviours": [_grow(random, taken, room, disk)]}]
        return document
    for number in range(2 if kind == "two leaks" else 1):
        request = random.choice([0, 64, 256, 1000])
        behaviour = _behaviour(random, kind, of, room, disk)
        culprit: dict[str, Any] = {
            "name": f"batch-{number}",
            "priority": random.choice([0, 0, 0, -10, 1000, 100_000]),
            "requests": {"memory": f"{request}Mi"} if request else {},
            "behaviours": [{"hold": {"of": "memory", "amount": f"{random.randint(20, 200)}Mi"}}, behaviour],
        }
        if of == "volume":
            culprit["volumes"] = [{"name": "data"}]
        if random.random() < 0.7:
            culprit["owner"] = random.choice(["Job", "ReplicaSet", "StatefulSet"]) + f"/batch-{number}"
            document["owners"].append(
                {
                    "name": culprit["owner"],
                    "delay": f"{random.choice([0, 2, 10, 40])}s",
                    "here": random.choice([0.3, 1.0]),
                }
            )
        if random.random() < 0.1:
            culprit["behaviours"].append({"ignoresTerm": {}})
        elif random.random() < 0.4:
            culprit["behaviours"].append({"stops": {"after": f"{random.randint(1, 20)}s"}})
        pods.append(culprit)
    if random.random() < 0.15:
        document["apiServer"] = {"budgets": [{"pods": ["default/db"], "allowed": 0}]}
    random.shuffle(pods)
    return document


def larger_world(seed: int) -> dict[str, Any]:
    """Return such a world with more in it: swap, limits, sizeLimits, budgets, static pods, growth of the host."""
    document, random = world_document(seed), Random(f"larger {seed}")
    memory = int(document["node"]["memory"][:-2])
    pods = document["pods"]
    if random.random() < 0.1:
        random.choice([each for each in pods if each.get("count", 1) > 1] or [{}])["count"] = 6
    if random.random() < 0.25:
        document["node"]["swap"] = f"{random.choice([1, 2])}Gi"
    if random.random() < 0.3:
        leaks = {"of": "memory", "rate": f"{random.randint(2, 40)}Mi", "start": f"{random.choice([0, 20, 60])}s"}
        document.setdefault("host", []).append({"name": "agent-2", "behaviours": [{"grow": leaks}]})
    if random.random() < 0.25:
        chosen = random.choice(pods)
        of = random.choice(["memory", "layer", "hostPath", "pageCache"])
        chosen["behaviours"].append({"grow": {"of": of, "rate": f"{random.randint(1, 60)}Mi", "start": "15s"}})
    if random.random() < 0.2:
        chosen = random.choice(pods)
        of, medium = random.choice([("memoryVolume", "Memory"), ("volume", "")])
        volume = {"name": "more", "medium": medium}
        if random.random() < 0.5:
            volume["sizeLimit"] = f"{memory * random.choice([64, 256, 900])}Mi"
        chosen.setdefault("volumes", []).append(volume)
        chosen["behaviours"].append({"grow": {"of": of, "rate": f"{random.randint(5, 80)}Mi", "start": "5s"}})
    if random.random() < 0.2:
        random.choice(pods)["static"] = True
    if random.random() < 0.25:
        chosen = random.choice(pods)
        asked = int(chosen["requests"].get("memory", "0Mi")[:-2])
        chosen["limits"] = {"memory": f"{max(asked, memory * random.choice([200, 500, 800]))}Mi"}
    if random.random() < 0.3:
        guarded = random.choice(pods)
        names = (
            [guarded["name"]]
            if guarded.get("count", 1) == 1
            else [f"{guarded['name']}-{n}" for n in range(guarded["count"])]
        )
        budgets = document.setdefault("apiServer", {}).setdefault("budgets", [])
        budgets.append({"pods": [f"default/{name}" for name in names], "allowed": random.choice([0, 1])})
    if random.random() < 0.25:
        config = document["config"]
        config.setdefault("evictionSoft", {})["nodefs.available"] = random.choice(["15%", "3Gi"])
        config.setdefault("evictionSoftGracePeriod", {})["nodefs.available"] = random.choice(["20s", "1m"])
    if random.random() < 0.3:
        random.choice(pods)["priority"] = random.choice([-100, 500, 2_000_000_000])
    return document


def mixed_world(seed: int) -> dict[str, Any]:
    """Return such a larger world with memory that no process can allocate, and pods that fill the disk and its inodes too."""
    document, random = larger_world(seed), Random(f"mixed {seed}")
    node, config = document["node"], document["config"]
    if random.random() < 0.8:
        node["unusableMemory"] = f"{random.choice([60, 150, 250])}Mi"
    if random.random() < 0.7:
        config.setdefault("evictionSoft", {})["memory.available"] = random.choice(["700Mi", "1Gi", "1500Mi"])
        config.setdefault("evictionSoftGracePeriod", {})["memory.available"] = random.choice(["30s", "90s"])
        config.setdefault("evictionMaxPodGracePeriod", 30)
        if random.random() < 0.6:  # what is left is near that, and above it by one formula only
            document["pods"].append(_filler(random, document))
    if random.random() < 0.6:
        node["nodefs"]["inodes"] = 1_000_000
        config["evictionHard"]["nodefs.inodesFree"] = "5%"
        config["evictionHard"]["nodefs.available"] = "10%"
        of = random.choice(["volumeInodes", "volume"])
        rate = random.randint(2000, 20_000) if of == "volumeInodes" else f"{random.randint(30, 300)}Mi"
        grows = {"grow": {"of": of, "rate": rate, "start": f"{random.choice([10, 60])}s"}}
        mail = {"name": "mail", "priority": random.choice([0, 0, 500]), "volumes": [{"name": "queue"}]}
        mail["behaviours"] = [{"hold": {"of": "memory", "amount": "60Mi"}}, grows]
        document["pods"].append(mail)
    return document


def returning_world(seed: int) -> dict[str, Any]:
    """Return a world in which one pod exceeds its request and comes back, beside one that grows past its own and then no more."""
    random = Random(f"returning {seed}")
    memory, count, web = random.choice([8, 16]) * 1024, random.randint(2, 5), random.randint(100, 400)
    held, least, beyond = random.randint(900, 2500), 500, random.randint(20, 400)
    full = memory - held - count * web - least  # what the other holds when the threshold is met
    first = random.randint(full // 4, full // 2)
    grows = {"of": "memory", "rate": f"{random.randint(2, 10)}Mi", "bound": f"{full + beyond - first}Mi"}
    culprit = _resident("crawler", first, 1.0, random.choice([0, 0, 0, 500]))
    culprit["requests"] = {"memory": f"{full - random.randint(50, 250)}Mi"}
    culprit["behaviours"].append({"grow": grows})
    pods = [
        _resident("db", held, random.choice([0.2, 0.5]), 0) | {"owner": "StatefulSet/db"},
        culprit | {"owner": "ReplicaSet/crawler"},
        _resident("web", web, 1.2, 0) | {"owner": "ReplicaSet/web", "count": count},
    ]
    return {
        "kind": "World",
        "name": f"returning-{seed}",
        "config": {"evictionHard": {"memory.available": f"{least}Mi"}},
        "duration": "40m",
        "node": {"memory": f"{memory}Mi"},
        "pods": pods,
        "owners": [{"name": each["owner"], "delay": "5s"} for each in pods],
    }


def _residents(random: Random, memory: int) -> Iterator[dict[str, Any]]:
    """Yield a database and web pods that hold what they hold, in all at most three quarters of the node."""
    each = memory * 1024 // 16
    database = random.randint(each // 2, each * 3)
    yield _resident("db", database, random.choice([0.7, 1.0, 1.3]), random.choice([0, 1000, 1_000_000]))
    for name, count in (
        ("web", random.randint(1, 5)),
        ("cache", random.randint(1, 2)),
        ("small", random.randint(1, 4)),
    ):
        amount = random.randint(10, 60) if name == "small" else random.randint(each // 4, each)
        yield _resident(name, amount, random.choice([0, 0.5, 0.9, 1.0, 1.5]), random.choice([0, 0, 100])) | {
            "count": count,
            "owner": f"ReplicaSet/{name}",
        }


def _resident(name: str, held: int, asked: float, priority: int) -> dict[str, Any]:
    requests = {"memory": f"{int(held * asked)}Mi"} if asked else {}
    behaviours = [{"hold": {"of": "memory", "amount": f"{held}Mi"}}]
    return {"name": name, "priority": priority, "requests": requests, "behaviours": behaviours}


def _filler(random: Random, document: dict[str, Any]) -> dict[str, Any]:
    """Return a pod that holds what is left of memory but for about the soft threshold."""
    unusable = int(document["node"].get("unusableMemory", "0Mi")[:-2])
    holds = [(each["behaviours"][0]["hold"], each.get("count", 1)) for each in document["pods"]]
    held = sum(int(hold["amount"][:-2]) * count for hold, count in holds)
    soft = {"700Mi": 700, "1Gi": 1024, "1500Mi": 1500}[document["config"]["evictionSoft"]["memory.available"]]
    left = int(document["node"]["memory"][:-2]) * 1024 - held - soft - random.randint(0, unusable + 50)
    return _resident("filler", max(left, 10), 1.0, 1000)


def _owners(random: Random, pods: list[dict[str, Any]]) -> list[dict[str, Any]]:
    names = [each["owner"] for each in pods if "owner" in each]
    return [{"name": name, "delay": "2s", "here": random.choice([0.2, 1.0])} for name in names]


def _config(random: Random) -> dict[str, Any]:
    hard = {
        "memory.available": random.choice(["100Mi", "300Mi", "500Mi", "5%"]),
        "nodefs.available": random.choice(["10%", "1Gi"]),
        "pid.available": "10%",
    }
    made: dict[str, Any] = {"evictionHard": hard}
    if random.random() < 0.3:
        made["evictionSoft"] = {"memory.available": random.choice(["700Mi", "1Gi"])}
        made["evictionSoftGracePeriod"] = {"memory.available": random.choice(["10s", "30s", "2m"])}
        made["evictionMaxPodGracePeriod"] = 30
    if random.random() < 0.2:
        made["evictionMinimumReclaim"] = {"memory.available": "200Mi"}
    return made


def _grow(random: Random, of: str, room: int, disk: int, bounded: bool = False) -> dict[str, Any]:
    seconds = random.choice([20, 60, 120, 240])
    if of == "processes":
        return {"grow": {"of": of, "rate": f"{max(1, 4000 // seconds)}"}}
    rate = max(1, (room if of == "memory" else disk * 1024) // seconds)
    grown: dict[str, Any] = {"of": of, "rate": f"{rate}Mi", "start": f"{random.choice([0, 10, 30])}s"}
    if bounded:
        grown["bound"] = f"{room if of == 'memory' else disk * 1024}Mi"
    return {"grow": grown}


def _behaviour(random: Random, kind: str, of: str, room: int, disk: int) -> dict[str, Any]:
    if kind == "burst" and of == "memory":
        start, duration = random.randint(20, 90), random.choice([5, 20, 60])
        return {"burst": {"of": of, "amount": f"{room}Mi", "start": f"{start}s", "duration": f"{duration}s"}}
    if kind == "sawtooth" and of == "memory":
        return {"leakAndRelease": {"of": of, "rate": f"{max(1, room // 60)}Mi", "peak": f"{room}Mi", "low": "20Mi"}}
    return _grow(random, of, room, disk, kind == "overcommitted")

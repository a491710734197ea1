"""Generates worlds in which the kernel kills an innocent pod: for a leak of the host, or for a pod that is new or grows."""

from random import Random
from typing import Any


def killing_world(seed: int) -> dict[str, Any]:
    """Return a world, equal for equal seeds."""
    random = Random(f"kernel {seed}")
    memory, count = random.choice([4, 8, 16]) * 1024, random.randint(2, 5)
    web, base = memory // (count * 4), random.choice([0, memory // 10, memory // 7])
    room = memory - base - count * web
    requests = {"memory": f"{web + 50}Mi"}
    pods: list[dict[str, Any]] = [
        {"name": "web", "count": count, "requests": requests, "behaviours": [_hold(web)]},
    ]
    host: list[dict[str, Any]] = []
    if base:
        host.append({"name": "daemons", "oomScoreAdj": -999, "behaviours": [_hold(base)]})
    kind = random.choice(["host", "host", "new", "grows"])
    start = random.randint(90, 240)
    if kind == "host":
        survives = random.random() < 0.5
        grow = {"of": "memory", "rate": f"{random.randint(max(room // 400, 2), room // 60)}Mi", "start": f"{start}s"}
        host.append({"name": "agent", "oomScoreAdj": -900 if survives else 0, "behaviours": [{"grow": grow}]})
    else:
        pods.append({"name": "db", "requests": {"memory": f"{room * 2 // 3}Mi"}, "behaviours": [_hold(room * 2 // 3)]})
        taken = {"of": "memory", "rate": f"{room // 8}Mi", "bound": f"{room * 3 // 5}Mi"}
        batch = {"name": "batch", "requests": {"memory": "100Mi"}, "behaviours": [{"grow": taken}]}
        if kind == "new":
            batch["start"] = f"{start}s"
        else:
            taken["start"] = f"{start}s"
        pods.append(batch)
    return {
        "kind": "World",
        "name": f"kernel-{seed}",
        "config": {"evictionHard": {"memory.available": "100Mi"} if kind != "host" else {"nodefs.available": "10%"}},
        "watch": False,
        "duration": "14m",
        "node": {"memory": f"{memory}Mi"},
        "pods": pods,
        "host": host,
    }


def cause_of(document: dict[str, Any]) -> str:
    """Return the name of what makes the kernel kill: a pod, or a part of the host."""
    return "batch" if any(each["name"] == "batch" for each in document["pods"]) else "agent"


def constant_outside(document: dict[str, Any]) -> int:
    """Return the bytes that the host holds all the time."""
    held = (each["behaviours"][0].get("hold") for each in document["host"])
    return sum(int(each["amount"][:-2]) * 2**20 for each in held if each)


def _hold(amount: int) -> dict[str, Any]:
    return {"hold": {"of": "memory", "amount": f"{amount}Mi"}}

"""Generates worlds in which a pod that exceeds its request late is not the first one of a higher threshold."""

from random import Random
from typing import Any


def raised_world(seed: int) -> dict[str, Any]:
    """Return a world with a leak or a burst of one pod beside pods of other priorities that are a little over their requests."""
    random = Random(f"raised {seed}")
    count, held, host = random.randint(2, 4), random.choice([700, 1000, 1300]), random.choice([1300, 1800])
    memory, first = random.choice([8, 10]) * 1024, random.choice([200, 800])
    web = {
        "name": "web",
        "count": count,
        "priority": random.choice([0, 100, 1000]),
        "requests": {"memory": f"{held - random.choice([-100, 50, 100])}Mi"},
        "behaviours": [{"hold": {"of": "memory", "amount": f"{held}Mi"}}],
    }
    room = memory - count * held - host - first
    if random.random() < 0.7:
        grows = {"grow": {"of": "memory", "rate": f"{max(room // random.choice([120, 400, 700]), 1)}Mi", "start": "1m"}}
    else:
        amount = max(room - random.choice([200, 400, 700]), 100)
        grows = {"burst": {"of": "memory", "amount": f"{amount}Mi", "start": "2m", "duration": "100s", "every": "4m"}}
    job = {
        "name": "job",
        "priority": random.choice([0, 0, 500]),
        "requests": {"memory": f"{first + random.choice([-100, 300, room // 2])}Mi"},
        "behaviours": [{"hold": {"of": "memory", "amount": f"{first}Mi"}}, grows],
    }
    config: dict[str, Any] = {"evictionHard": {"memory.available": "500Mi"}}
    if random.random() < 0.6:
        config |= {
            "evictionSoft": {"memory.available": "1Gi"},
            "evictionSoftGracePeriod": {"memory.available": random.choice(["30s", "1m30s"])},
            "evictionMaxPodGracePeriod": 30,
        }
    return {
        "kind": "World",
        "name": f"raised-{seed}",
        "config": config,
        "evictd": {},
        "duration": "20m",
        "node": {"memory": f"{memory}Mi", "unusableMemory": f"{random.choice([0, 150])}Mi"},
        "pods": [job, web],
        "host": [
            {"name": "system", "oomScoreAdj": -900, "behaviours": [{"hold": {"of": "memory", "amount": f"{host}Mi"}}]}
        ],
    }

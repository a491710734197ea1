"""Generates worlds in which a pod that may not be evicted grows, beside others, below a hard and maybe a soft threshold."""

from random import Random
from typing import Any

_MEMORY = 5 * 1024
_SMALL = (100, 300)
_LARGE = (400, 900)


def static_world(seed: int) -> dict[str, Any]:
    """Return a world file with a static pod that grows, and pods of which some exceed their requests; equal for equal seeds."""
    random = Random(f"static {seed}")
    pods = [_resident(random, f"web-{number}", _LARGE) for number in range(random.randint(1, 3))]
    pods += [_resident(random, f"worker-{number}", _SMALL) for number in range(random.randint(1, 3))]
    rate, taken = random.choice([3, 8, 14, 14, 30]), random.choice([100, 600, 1500])
    grows: dict[str, Any] = {"of": "memory", "rate": f"{rate}Mi", "start": f"{random.choice([0, 15, 40])}s"}
    if random.random() < 0.2:
        grows["bound"] = f"{rate * random.choice([30, 60])}Mi"
    static = {
        "name": "registry",
        "namespace": "kube-system",
        "static": True,
        "requests": {"memory": "200Mi"},
        "behaviours": [{"hold": {"of": "memory", "amount": f"{taken}Mi"}}, {"grow": grows}],
    }
    if random.random() < 0.25:
        rate = random.choice([2, 6, 12])
        random.choice(pods)["behaviours"].append({"grow": {"of": "memory", "rate": f"{rate}Mi", "start": "10s"}})
    held = taken + sum(int(each["behaviours"][0]["hold"]["amount"][:-2]) for each in pods)
    left = random.choice([800, 1000, 1400])
    config: dict[str, Any] = {
        "evictionHard": {"memory.available": "500Mi"},
        "evictionPressureTransitionPeriod": "60s",
    }
    if random.random() < 0.8:
        config["evictionSoft"] = {"memory.available": random.choice(["700Mi", "1Gi"])}
        config["evictionSoftGracePeriod"] = {"memory.available": random.choice(["10s", "30s", "50s", "90s"])}
        config["evictionMaxPodGracePeriod"] = 20
    return {
        "kind": "World",
        "name": f"static-{seed}",
        "config": config,
        "duration": "4m",
        "node": {"memory": f"{_MEMORY}Mi"},
        "pods": [*pods, static],
        "host": [
            {
                "name": "kernel",
                "behaviours": [{"hold": {"of": "memory", "amount": f"{max(_MEMORY - held - left, 0)}Mi"}}],
            }
        ],
    }


def changes(document: dict[str, Any]) -> list[float]:
    """Return the seconds at which growth begins or ends in such a world, but for that which lasts from its begin."""
    found = []
    for behaviour in (each for pod in document["pods"] for each in pod["behaviours"]):
        if grows := behaviour.get("grow"):
            start = float(grows["start"][:-1])
            bound = int(grows["bound"][:-2]) / int(grows["rate"][:-2]) if "bound" in grows else 0
            found += [each for each in (start, start + bound) if each > 0]
    return found


def _resident(random: Random, name: str, least_and_most: tuple[int, int]) -> dict[str, Any]:
    held = random.randint(*least_and_most)
    return {
        "name": name,
        "priority": random.choice([0, 0, 100]),
        "requests": {"memory": f"{int(held * random.choice([0.5, 0.7, 1.2, 1.5]))}Mi"},
        "behaviours": [{"hold": {"of": "memory", "amount": f"{held}Mi"}}],
    }

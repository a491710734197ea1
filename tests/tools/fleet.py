"""Writes the journals of a fleet for `evictd advise`: `python -m tests.tools.fleet FOLDER [--nodes 1000] [--hours 24]`.

Each node has 30 pods on 8 GiB. Six times a day one of them leaks memory, at a rate that is drawn for the incident; the pod is
gone after the stop time of the node. The decisions are the core's own.
"""

import argparse
import random
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path

from evictd.codec.records.journal import encode_entry
from evictd.codec.times import rfc3339
from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.observation import Filesystems, Observation, Outcomes
from evictd.core.model.state import State
from evictd.core.units.duration import HOUR, MINUTE, SECOND
from tests.playbook import config, node, pod, usage

MI = 2**20
LIMIT = 500 * MI
CONFIG = config(hard={"memory.available": "500Mi", "nodefs.available": "10%"})
PODS = tuple(pod(f"pod-{number:02}", memory="128Mi") for number in range(30))
BEGIN = 1_790_000_000 * SECOND
INCIDENTS_A_DAY = 6


def readings(rng: random.Random, hours: int) -> Iterator[tuple[int, Observation]]:
    """The moments that a daemon would journal: calm, the decision, the victim gone, the condition over."""
    stop = rng.uniform(0.3, 3.0)
    for begin, end in pairwise(sorted(rng.randrange(hours * HOUR) for _ in range(INCIDENTS_A_DAY * hours // 24 + 1))):
        if end - begin < 10 * MINUTE:
            continue
        rate = round(rng.lognormvariate(2.5, 1.2)) * MI
        left = LIMIT - rate // 10
        gone = round(begin + stop * SECOND)
        hog = PODS[rng.randrange(len(PODS))].uid
        yield begin, observe(begin, left, rate, hog)
        yield gone, observe(gone, 3 * 2**30, 0, hog, there=False)
        yield gone + 6 * MINUTE, observe(gone + 6 * MINUTE, 3 * 2**30, 0, hog, there=False)


def observe(at: int, left: int, rate: int, hog: str, *, there: bool = True) -> Observation:
    """One reading; a pod that has ended is not in it."""
    pods = tuple(each for each in PODS if there or each.uid != hog)
    used = 8 * 2**30 - left - 900 * MI
    stats = [usage(each, memory=f"{used // (5 if each.uid == hog else 40)}") for each in pods]
    return Observation(
        node=node(memory=f"{left} of 8Gi", nodefs="60Gi of 100Gi", time=at, fill_rate=rate),
        pods=pods,
        pod_stats={each.uid: each for each in stats},
        filesystems=Filesystems(),
    )


def write_node(folder: Path, hours: int, number: int) -> None:
    """Write one node's journal."""
    state, victims = State(), frozenset[str]()
    path = folder / f"node-{number:04}"
    path.mkdir(parents=True)
    with (path / "journal.jsonl").open("wb") as file:
        for at, seen in readings(random.Random(number), hours):
            there = {each.uid for each in seen.pods}
            observation = replace(seen, outcomes=Outcomes(cleaned_up=victims - there))
            step = synchronize(state, observation, CONFIG, at)
            wall = rfc3339(BEGIN + at)
            file.write(encode_entry(now=at, wall=wall, state=state, observation=observation, config=CONFIG, step=step))
            state, victims = step.state, frozenset(each.uid for each in step.state.in_flight)


def main() -> None:
    """Write the fleet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--hours", type=int, default=24)
    args = parser.parse_args()
    with ProcessPoolExecutor() as pool:
        list(pool.map(partial(write_node, args.folder, args.hours), range(args.nodes), chunksize=8))


if __name__ == "__main__":
    main()

"""Ten thousand cycles with twenty pods and without pressure: memory and descriptors do not grow.

The loop is the daemon's own, without its waits. `EVICTD_CALM_CYCLES` sets the number of cycles; a plain test run makes fewer.
"""

import gc
import os
import resource
import sys
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from evictd.config.file import load
from evictd.daemon.configuration import Configuration
from evictd.daemon.run import Daemon, roots_of
from evictd.daemon.telemetry import log
from evictd.daemon.waiter import WaitResult
from tests.conftest import NodeFactory
from tests.e2e.story import DISK, Story
from tests.kube.waiting import eventually

pytestmark = [pytest.mark.root, pytest.mark.containerd]

CYCLES = int(os.environ.get("EVICTD_CALM_CYCLES", "150"))
PODS = 20
WARM_UP = 100
MOST_GROWTH_KIB = 4096


def resident_kib() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1])
    raise AssertionError("no VmRSS")


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_nothing_grows_in_ten_thousand_cycles(make_node: NodeFactory, tmp_path: Path) -> None:
    """Memory and descriptors after the warm-up and after the last cycle; the figures are printed."""
    node = make_node(node_disk=DISK)
    story = Story(node, {"evictionHard": {"nodefs.available": "1Mi", "memory.available": "1Mi"}})
    for number in range(PODS):
        story.pod(f"pod-{number}", "sleep 100000")
    story.configure()
    config = node.folder / "config.yaml"
    logger = log.logger(sys.stderr, level="warning", form="json")
    with ExitStack() as stack:
        configuration = Configuration(load(config), partial(load, config))
        loop = Daemon(configuration, roots_of(configuration.settings), stack, logger).loop
        for _ in range(WARM_UP):
            loop.cycle(WaitResult())
        gc.collect()
        before = (resident_kib(), descriptors())
        began = resource.getrusage(resource.RUSAGE_SELF)
        for _ in range(CYCLES):
            loop.cycle(WaitResult())
        ended = resource.getrusage(resource.RUSAGE_SELF)
        gc.collect()
        eventually(lambda: descriptors() <= before[1])  # a measurement may have a folder open
        after = (resident_kib(), descriptors())
    spent = (ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime) / CYCLES
    print(
        f"\n{CYCLES} cycles beside {PODS} pods: memory {before[0]} to {after[0]} KiB, "
        f"descriptors {before[1]} to {after[1]}, {spent * 1000:.2f} ms of processor time a cycle"
    )
    assert after[0] - before[0] < MOST_GROWTH_KIB
    assert (node.folder / "evictd" / "journal.jsonl").read_bytes().count(b"\n") == 1

"""Measures on this machine the time from a crossing to the decision and the stop; `make bench SUITE=reaction_vm` runs it.

A process in a pod's cgroup fills memory past a threshold of MemAvailable. Nothing stalls there by itself, so for the modes that
wait for a notification the filler sets, at the crossing, the pod's `memory.high` to what the pod has: each page more is a breach,
which modifies `memory.events`, and soon the kernel slows the filler down, which PSI counts as a stall.

evictd runs as its service. Of a trial are written, in nanoseconds of the boot clock: the crossing, the begin of the cycle that
decided (the journal's), and the first StopContainer call. earlyoom runs dry: its line about low memory counts.
"""

import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from bench.lines import Lines
from evictd_testnode.pods import RunningPod
from tests.vm.guest import service, trials
from tests.vm.guest.node import Node, pod_cgroup
from tests.vm.guest.test_scenarios import Story
from tests.vm.guest.trials import EARLYOOM, RATE, THRESHOLD
from tests.vm.guest.waiting import wait_for

pytestmark = [pytest.mark.vm, pytest.mark.timeout(900)]

TRIALS = 3
NAME = "reaction.jsonl"
BEYOND = 150
"""MiB that the filler takes after the crossing, if nothing ends it; fewer than there are, so that no OOM kill occurs."""
POLL_SECONDS = 10
STOPS = Path("/run/evictd-stops")
DROP_IN = service.UNIT.with_suffix(".service.d") / "bench.conf"
BENCH = f"""[Service]
ExecStart=
ExecStart=/usr/bin/python3 -m tests.vm.guest.reaction_daemon %s run --config {service.CONFIG} --lock-memory
WorkingDirectory={service.JOB}
Environment=PYTHONPATH={service.JOB}/site:{service.JOB}/src:{service.JOB}
StandardOutput=truncate:{STOPS}
StandardError=journal
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """What may wake evictd, and whether the pod goes beyond its `memory.high`."""

    waker: str
    breach: bool = False
    watch: bool = True
    """`memory.watch`; without it only a cycle notices the crossing, and one comes every `POLL_SECONDS`."""


MODES = {
    "PSI trigger": Mode(waker="psi", breach=True),
    "memory.events": Mode(waker="memory.events", breach=True),
    "as shipped": Mode(waker="all", breach=True),
    "cheap readings": Mode(waker="readings"),
    "10 s poll": Mode(waker="all", watch=False),
}


@contextmanager
def evictd(mode: Mode) -> Iterator[None]:
    """The service, woken by what the mode says only."""
    service.configure(
        {"evictionHard": {"memory.available": f"{THRESHOLD}Mi"}, "evictionPressureTransitionPeriod": "1s"},
        {
            "memory": {"formula": "MemAvailable", "watch": mode.watch},
            # Long where a cycle that is due anyway must not be taken for one that was woken.
            "housekeepingInterval": f"{60 if mode.watch else POLL_SECONDS}s",
        },
    )
    DROP_IN.write_text(BENCH % mode.waker)
    service.systemctl("daemon-reload")
    try:
        with trials.evictd():
            yield
    finally:
        DROP_IN.unlink()
        service.systemctl("daemon-reload")


@contextmanager
def filler(scope: Path, *pod: Path) -> Iterator[Lines]:
    """Fill memory from the cgroup `scope`; beyond the `memory.high` of `pod` from the crossing on, if given."""
    argv = [sys.executable, "-m", "bench.filler", str(RATE), str(BEYOND), "pod", str(THRESHOLD << 20), str(scope)]
    with subprocess.Popen([*argv, *map(str, pod)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Lines(process)
        finally:
            process.kill()


def crossing(lines: Lines) -> int:
    return int(lines.next("crossed", 120)[1].split()[1])


def first_stop(after: int) -> int | None:
    """The first StopContainer call after a time."""
    times = [int(line.split()[1]) for line in STOPS.read_text().splitlines() if line.startswith("stop ")]
    return next((at for at in times if at > after), None)


def is_known(pod: RunningPod) -> bool:
    """Have evictd look at once, whatever the interval, and give whether it has listed the pod, as it would have on any node."""
    service.systemctl("reload", service.NAME)
    return pod.name in service.page("/explainz")


def trial(node: Node, number: int, name: str) -> None:
    mode, story = MODES[name], Story()
    pod, scope = trials.run_hog(node, number)
    wait_for(lambda: is_known(pod), 120, f"{pod.name} to be listed")
    if not mode.watch:
        time.sleep(random.uniform(0, POLL_SECONDS))  # where in the interval the crossing falls is what is measured
    woken = service.metric("evictd_wakeups_total", cause="memory")
    with filler(scope, *([pod_cgroup(pod)] if mode.breach else [])) as lines:
        crossed = crossing(lines)
        wait_for(lambda: story.times("EvictPod"), 120, "the decision")
        stopped = wait_for(lambda: first_stop(crossed), 120, "the stop")
    decided = story.times("EvictPod")[0][0]
    assert story.victims() == [pod.name]
    if mode.watch:
        assert service.metric("evictd_wakeups_total", cause="memory") > woken
    trials.record(NAME, mode=name, crossed=crossed, decision=decided, stop=stopped)
    trials.remove(node, pod)
    wait_for(is_calm, 240, "calm")


def is_calm() -> bool:
    """Have evictd look at once, whatever the interval, and give whether the pressure is over for it."""
    service.systemctl("reload", service.NAME)
    return service.conditions().get("MemoryPressure") == "False"


@pytest.mark.parametrize("name", MODES)
def test_evictd(node: Node, installed: None, name: str) -> None:
    with evictd(MODES[name]):
        for number in range(trials.count(TRIALS)):
            trial(node, number, name)


def test_earlyoom(node: Node) -> None:
    if not EARLYOOM.exists():
        return
    pod, scope = trials.run_hog(node, 0)
    argv = [str(EARLYOOM), "--dryrun", "-r", "0", "-M", str(THRESHOLD << 10)]
    for _ in range(trials.count(TRIALS)):
        with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
            try:
                said = Lines(process)
                said.next("mem total")
                with filler(scope) as lines:
                    crossed = crossing(lines)
                    at, _ = said.next("low memory")
            finally:
                process.kill()
        trials.record(NAME, mode="earlyoom", crossed=crossed, stop=at)
    trials.remove(node, pod)

"""Measures how far `memory.available` falls before the OOM killer strikes; `make bench SUITE=memory_floor_vm` runs it, no test.

A process fills memory at 20 MiB/s once 400 MiB are left, without a limit, on a machine that has nothing else to do (`idle`), or
whose kernel holds some thousand open sockets and many unused directory entries (`slab`). This process reads all the time what
evictd reads; the last reading before the kill counts. That is the value that a threshold has to be above to be ever met.
"""

import ctypes
import subprocess
import sys
from pathlib import Path

import pytest

from evictd.core.model.config import MemoryFormula
from evictd.observe.cgroups.cgroup import find_hierarchy
from evictd.observe.cgroups.file_descriptor_cache import FileDescriptorCache
from evictd.observe.cgroups.memory import NodeMemoryReader
from evictd.observe.reading.problems import Problems
from evictd.observe.reading.roots import Roots
from tests.vm.guest import trials
from tests.vm.guest.test_scenarios import oom_kills

pytestmark = [pytest.mark.vm, pytest.mark.timeout(900)]

NAME = "memory_floor.jsonl"
_LOCK_ALL = 3
_SOCKETS = 30_000
_ENTRIES = 200_000
_FILLER = """
import mmap, os, re, time
os.makedirs("/sys/fs/cgroup/floor", exist_ok=True)  # systemd ends the unit of this test when one of its processes is killed
open("/sys/fs/cgroup/floor/cgroup.procs", "w").write("0")
open("/proc/self/oom_score_adj", "w").write("1000")
at_once = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE
left = int(re.search(r"MemAvailable: +([0-9]+)", open("/proc/meminfo").read())[1]) >> 10
held = [mmap.mmap(-1, 1 << 20, flags=at_once) for _ in range(left - 400)]
while True:
    held.append(mmap.mmap(-1, 1 << 20, flags=at_once))
    time.sleep(0.05)
"""
_SLAB = f"""
import os, resource, socket, sys, time
open("/proc/self/oom_score_adj", "w").write("-1000")
resource.setrlimit(resource.RLIMIT_NOFILE, (1 << 20, 1 << 20))
held = [socket.socketpair() for _ in range({_SOCKETS} // 2)]
for number in range({_ENTRIES}):
    os.path.exists(f"/var/tmp/{{number}}")
print("ready", flush=True)
time.sleep(3600)
"""


@pytest.mark.parametrize("kind", ["idle", "slab"])
def test_floor(kind: str) -> None:
    """Fill until the OOM killer ends it, and record the last reading."""
    Path("/proc/self/oom_score_adj").write_text("-1000")
    ctypes.CDLL(None).mlockall(_LOCK_ALL)
    files, roots, problems = FileDescriptorCache(), Roots(), Problems()
    memory = NodeMemoryReader(roots, find_hierarchy(roots.cgroup, files), files, formula=MemoryFormula.WORKING_SET)
    slab = None
    if kind == "slab":
        slab = subprocess.Popen([sys.executable, "-c", _SLAB], stdout=subprocess.PIPE)
        assert slab.stdout is not None
        slab.stdout.readline()
    for _ in range(trials.count(3)):
        before, last = oom_kills(), memory.gauges(memory.node("/", problems), None, problems)
        begin = last
        filler = subprocess.Popen([sys.executable, "-c", _FILLER])
        lowest = last.working_set_available_bytes or 0
        while True:
            found = memory.gauges(memory.node("/", problems), None, problems)
            if oom_kills() > before:
                break
            last = found
            lowest = min(lowest, found.working_set_available_bytes or lowest)
        filler.wait()
        trials.record(
            NAME,
            kind=kind,
            capacity=last.capacity_bytes,
            lowest=lowest,
            last=last.working_set_available_bytes,
            mem_available=last.mem_available_bytes,
            unallocatable=last.unallocatable_bytes,
            unallocatable_idle=begin.unallocatable_bytes,
            idle=begin.working_set_available_bytes,
            idle_mem_available=begin.mem_available_bytes,
        )
    if slab is not None:
        slab.kill()
        slab.communicate()

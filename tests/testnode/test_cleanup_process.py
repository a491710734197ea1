"""The cleanup process removes the node of a killed run, and then ends."""

import os
import signal
import subprocess
import sys

import pytest

from evictd_testnode.cgroups import group
from evictd_testnode.tool import command_line, process_ids, wait_for

pytestmark = [pytest.mark.root, pytest.mark.containerd]

OWNER = """
import os, time
from evictd_testnode import cleanup_process
from evictd_testnode.cgroups import make_group
from evictd_testnode.sweep import PREFIX
from evictd_testnode.tool import start_time
cleanup_process.start_cleanup_process()
name = f"{PREFIX}{os.getpid()}-{start_time(os.getpid())}-watched"
make_group(f"/{name}/inner")
print(name, flush=True)
time.sleep(1000)
"""


def cleanup_processes(owner: int) -> list[int]:
    found = ((pid, command_line(pid)) for pid in process_ids())
    return [pid for pid, argv in found if argv[1:4] == ["-m", "evictd_testnode.cleanup_process", str(owner)]]


def test_the_node_of_a_run_killed_with_its_process_group_is_removed() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as owner:
        assert owner.stdout is not None
        name = owner.stdout.readline().strip()
        assert wait_for(lambda: len(cleanup_processes(owner.pid)) == 1)
        assert group("memory", f"/{name}").exists()
        os.killpg(owner.pid, signal.SIGKILL)
        # The owner is a zombie until this test waits for it; `start_time` must count that as ended.
        assert wait_for(lambda: not group("memory", f"/{name}").exists(), seconds=60)
        assert wait_for(lambda: not cleanup_processes(owner.pid), seconds=60)

"""What a killed run leaves behind goes without anybody's doing, and so does the watchman."""

import os
import signal
import subprocess
import sys

import pytest

from evictd.demo.cgroups import group
from evictd.demo.tool import command_line, process_ids, wait_for

pytestmark = [pytest.mark.root, pytest.mark.containerd]

OWNER = """
import os, time
from evictd.demo import watchman
from evictd.demo.cgroups import make_group
from evictd.demo.sweep import PREFIX
from evictd.demo.tool import start_time
watchman.post()
name = f"{PREFIX}{os.getpid()}-{start_time(os.getpid())}-watched"
make_group(f"/{name}/inner")
print(name, flush=True)
time.sleep(1000)
"""


def watchmen(owner: int) -> list[int]:
    found = ((pid, command_line(pid)) for pid in process_ids())
    return [pid for pid, argv in found if argv[1:4] == ["-m", "evictd.demo.watchman", str(owner)]]


def test_a_run_that_was_killed_with_all_its_group_is_cleaned_up_after() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as owner:
        assert owner.stdout is not None
        name = owner.stdout.readline().strip()
        assert wait_for(lambda: len(watchmen(owner.pid)) == 1)
        assert group("memory", f"/{name}").exists()
        os.killpg(owner.pid, signal.SIGKILL)
        # Nobody has asked yet how it ended: to the kernel it is still there, and to us it is gone.
        assert wait_for(lambda: not group("memory", f"/{name}").exists(), seconds=60)
        assert wait_for(lambda: not watchmen(owner.pid), seconds=60)

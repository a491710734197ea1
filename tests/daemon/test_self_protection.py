"""Locking pages: it works, or it is one clear error; in a process of its own, since it cannot be undone piecemeal."""

import subprocess
import sys

SCRIPT = """
from evictd.daemon.self_protection import lock_memory
from evictd.errors import NodeError
try:
    lock_memory()
except NodeError as error:
    print("refused", error)
else:
    locked = next(line for line in open("/proc/self/status") if line.startswith("VmLck"))
    print("locked", int(locked.split()[1]) > 0)
"""


def test_pages_are_locked_or_the_refusal_is_clear() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "locked True" or done.stdout.startswith("refused mlockall")

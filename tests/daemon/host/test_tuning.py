"""In processes of their own, since neither can be undone piecemeal."""

import subprocess
import sys

LOCK = """
from evictd.daemon.run import lock_memory
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
    done = subprocess.run([sys.executable, "-c", LOCK], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "locked True" or done.stdout.startswith("refused mlockall")


SPARE = """
import gc
import evictd.daemon.run
from evictd.daemon.run import freeze_gc
before = len(gc.get_objects())
freeze_gc()
class Node: pass
node = Node()
node.self = node
del node
print(before > 10_000, len(gc.get_objects()) < 100, gc.collect() > 0)
"""


def test_a_full_collection_traverses_new_objects_only_and_still_frees_them() -> None:
    done = subprocess.run([sys.executable, "-c", SPARE], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["True", "True", "True"]

"""How does evictd stay able to act when memory is short?

Threads and connections exist before any pressure, the loop forks nothing, and its pages can be locked into memory. Nor does
the garbage collector stop it for long. The rest (`OOMScoreAdjust`, `MemoryMin`) is the service manager's to give: see deploy/.
"""

import ctypes
import gc
import os

from evictd.errors import NodeError

_MCL_CURRENT, _MCL_FUTURE, _MCL_ONFAULT = 1, 2, 4


def lock_memory() -> None:
    """Keep every page in memory from the moment it is first used; raises `NodeError` where that is not allowed.

    On fault, not at once: else each thread's stack of 8 MiB would be filled in.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mlockall(_MCL_CURRENT | _MCL_FUTURE | _MCL_ONFAULT) != 0:
        raise NodeError(f"mlockall: {os.strerror(ctypes.get_errno())}")


def spare_the_collector() -> None:
    """Keep what exists by now out of sight of the garbage collector; call once, when everything is put together.

    Modules and classes stay for good, and looking through all of them took some 50 ms each time a full collection was due.
    """
    gc.collect()
    gc.freeze()

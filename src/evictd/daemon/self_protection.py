"""How does evictd stay able to act when memory is short?

Threads and connections exist before any pressure, the loop forks nothing, and its pages can be locked into memory.
The rest (`OOMScoreAdjust`, `MemoryMin`) is the service manager's to give: see deploy/.
"""

import ctypes
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

"""Checks the process's limits before anything is loaded: one clear line instead of a traceback, a crash or a blind daemon.

With 16 descriptors no event loop can be made, with 20 the daemon runs and fails at each reading. With an address space of 60 to
160 MiB an import or the start of a thread fails at any place (SIGSEGV).
"""

import resource

from evictd.errors import NodeError

LEAST_DESCRIPTORS = 256
"""33 are open on a node without pods, some ten more for each pod, and 32 for clients of the status page."""
MOST_DESCRIPTORS = 65536
LEAST_ADDRESS_SPACE = 2 << 30
"""Bytes. 1.1 GiB are reserved with 16 threads, most of it for their stacks and malloc's arenas; 60 MiB are used."""


def require_limits() -> None:
    """Raise the soft limit of open files to the hard one; raises `NodeError` for a limit that evictd cannot work with."""
    descriptors = _descriptors()
    if descriptors < LEAST_DESCRIPTORS:
        raise NodeError(
            f"limit of open files: {descriptors} is too low, at least {LEAST_DESCRIPTORS} (LimitNOFILE=, ulimit -n)"
        )
    space, _ = resource.getrlimit(resource.RLIMIT_AS)
    if space != resource.RLIM_INFINITY and space < LEAST_ADDRESS_SPACE:
        raise NodeError(
            f"limit of address space: {space >> 20}Mi is too low, at least {LEAST_ADDRESS_SPACE >> 20}Mi or none "
            "(LimitAS=, ulimit -v); bound the memory by a cgroup instead"
        )


def _descriptors() -> int:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = min(MOST_DESCRIPTORS, hard if hard != resource.RLIM_INFINITY else MOST_DESCRIPTORS)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return MOST_DESCRIPTORS if soft == resource.RLIM_INFINITY else soft
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (OSError, ValueError):  # a filter of system calls, such as the unit's, refuses it
        return soft
    return wanted

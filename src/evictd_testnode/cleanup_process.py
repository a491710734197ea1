"""Removes disposable nodes after their owner was killed.

A killed process cannot clean up, and there may be no later run that does. So a separate process in its own session waits for the
owner's end and then calls `evictd_testnode.sweep.sweep`, which finds nothing after a normal end.
"""

import os
import sys
import time
from collections.abc import Sequence

from evictd_testnode.sweep import sweep
from evictd_testnode.tool import start_time

_POLL_SECONDS = 1.0


def start_cleanup_process(module: str = __name__) -> None:
    """Start the cleanup process of this process, as `python -m MODULE PID STARTTIME`; it ends soon after this process."""
    pid = os.getpid()
    no_streams = [
        (os.POSIX_SPAWN_OPEN, descriptor, os.devnull, flags, 0)
        for descriptor, flags in ((0, os.O_RDONLY), (1, os.O_WRONLY), (2, os.O_WRONLY))
    ]
    argv = [sys.executable, "-m", module, str(pid), str(start_time(pid))]
    os.posix_spawn(sys.executable, argv, os.environ, file_actions=no_streams, setsid=True)


def wait_for_exit(arguments: Sequence[str]) -> None:
    """Wait until the process of the arguments `PID STARTTIME` has ended."""
    pid, started = (int(each) for each in arguments)
    while start_time(pid) == started:
        time.sleep(_POLL_SECONDS)


if __name__ == "__main__":
    wait_for_exit(sys.argv[1:])
    sweep()

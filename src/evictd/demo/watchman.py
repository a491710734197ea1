"""Who cleans up after a run that was killed?

Not the run, and the next one may never come. So a process of its own, in a session of its own, waits for the end of the one that
makes disposable nodes, and sweeps (`demo.sweep`). It finds nothing to do where the run ended well.
"""

import os
import sys
import time
from collections.abc import Sequence

from evictd.demo.sweep import sweep
from evictd.demo.tool import start_time

_GLANCE_SECONDS = 1.0


def post(module: str = __name__) -> None:
    """Start the watchman of this process, as `python -m MODULE PID STARTTIME`; it ends soon after this process."""
    pid = os.getpid()
    nothing = [
        (os.POSIX_SPAWN_OPEN, descriptor, os.devnull, flags, 0)
        for descriptor, flags in ((0, os.O_RDONLY), (1, os.O_WRONLY), (2, os.O_WRONLY))
    ]
    argv = [sys.executable, "-m", module, str(pid), str(start_time(pid))]
    os.posix_spawn(sys.executable, argv, os.environ, file_actions=nothing, setsid=True)


def wait_for_the_end(arguments: Sequence[str]) -> None:
    """Wait for the end of the process that `PID STARTTIME` name."""
    pid, started = (int(each) for each in arguments)
    while start_time(pid) == started:
        time.sleep(_GLANCE_SECONDS)


if __name__ == "__main__":
    wait_for_the_end(sys.argv[1:])
    sweep()

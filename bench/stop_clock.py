"""Runs `evictd` and prints the boot-clock time of every StopContainer call to standard output.

The reaction suite measures the time until that call; nothing else of the daemon is changed.
"""

import sys
import time
from typing import Any

from evictd.cli import main
from evictd.clients.cri.channel import Pending
from evictd.clients.cri.client import CriClient

_begin = CriClient.begin_stop_container


def _noted(self: Any, container_id: str, grace_seconds: int) -> Pending[None]:
    print(f"stop {time.clock_gettime_ns(time.CLOCK_BOOTTIME)}", flush=True)
    return _begin(self, container_id, grace_seconds)


CriClient.begin_stop_container = _noted  # type: ignore[method-assign] # the very point
sys.exit(main(sys.argv[1:]))

"""`evictd`, with one thing added: every StopContainer is noted with the boot clock, on standard output, as it is called.

What the reaction suite measures is the way to that call; nothing else of the daemon is touched.
"""

import sys
import time
from typing import Any

from evictd.cli import main
from evictd.clients.cri import CriClient, Pending

_begin = CriClient.begin_stop_container


def _noted(self: Any, container_id: str, grace_seconds: int) -> Pending[None]:
    print(f"stop {time.clock_gettime_ns(time.CLOCK_BOOTTIME)}", flush=True)
    return _begin(self, container_id, grace_seconds)


CriClient.begin_stop_container = _noted  # type: ignore[method-assign] # the very point
sys.exit(main(sys.argv[1:]))

"""Lists and stops one pod over CRI with the daemon's client, in a process without free PIDs.

Steps, one line on standard output after each, and one on standard input before the next: made (the process may be put into a
cgroup now), connected (the cgroup may be closed now), and what came of it as JSON.
"""

import json
import sys
import threading
import time

from evictd.act.stop.stopper import PodStopper
from evictd.clients.cri.client import CriClient
from evictd.errors import EvictdError
from evictd.observe.runtime.runtime_view import RuntimeReader
from evictd_testnode.tool import wait_for


def thread_starts() -> bool:
    """Whether this process can start another thread."""
    try:
        threading.Thread(target=int, daemon=True).start()
    except RuntimeError:
        return False
    return True


def main(endpoint: str) -> None:
    """Connect, run out of PIDs, list, stop the one pod and list again."""
    print("made", flush=True)
    sys.stdin.readline()
    with CriClient(endpoint) as client, PodStopper(client, clock=time.monotonic_ns) as terminator:
        client.version()
        print("connected", flush=True)
        sys.stdin.readline()
        found: dict[str, object] = {"starved": not thread_starts()}
        try:
            view = RuntimeReader(client).read(0)
            listed = [row.id for row in view.containers]
            found["listed"] = listed
            found["cgroups"] = dict(view.pod_cgroups)
            terminator.begin("u1", containers=listed, sandboxes=["s1"], grace_seconds=30)
            wait_for(lambda: (end := terminator.progress("u1")) is not None and end.finished)
            end = terminator.progress("u1")
            found["stopped"] = end is not None and end.finished
            found["errors"] = [] if end is None else list(end.errors)
        except EvictdError as error:
            found["error"] = str(error)
        found["still starved"] = not thread_starts()
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])

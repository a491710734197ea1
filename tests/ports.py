"""Finds ports of loopback for servers that a test starts later."""

import os
import random
import re
import socket
from contextlib import ExitStack, suppress
from pathlib import Path

_LEAST = 20_000
_WORKERS = 8
"""Parts of the range: a worker of pytest chooses from a part of its own, since two may look at the same time."""
_given: set[int] = set()
"""Ports of this process that were given out: the server of one may not have started yet."""


def free_ports(count: int = 1) -> list[int]:
    """Return ports that are free now, never given before, and below those that the kernel gives to clients.

    A port of the kernel's choice may be the local end of any connection by the time the server starts.
    """
    below = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    part, ports = own_part(below, os.environ.get("PYTEST_XDIST_WORKER", "")), list[int]()
    chance = random.SystemRandom()
    with ExitStack() as stack:
        while len(ports) < count:
            wanted = chance.choice(part) if part else 0
            with suppress(OSError):  # it is taken
                made = stack.enter_context(socket.create_server(("127.0.0.1", wanted)))
                port = made.getsockname()[1]
                if port not in _given:
                    _given.add(port)
                    ports.append(port)
    return ports


def own_part(below: int, worker: str) -> range:
    """Return the ports of a worker of pytest, `gw0` and so on; none where the kernel's own leave too few."""
    if below <= _LEAST + 1000:
        return range(0)
    number = re.fullmatch(r"gw([0-9]+)", worker)
    return range(_LEAST, below)[int(number[1]) % _WORKERS if number else 0 :: _WORKERS]

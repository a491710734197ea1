"""Finds ports of loopback for servers that a test starts later."""

import random
import socket
from contextlib import ExitStack, suppress
from pathlib import Path

_LEAST = 20_000


def free_ports(count: int = 1) -> list[int]:
    """Return ports that are free now, all different, and below those that the kernel gives to clients.

    A port of the kernel's choice may be the local end of any connection by the time the server starts.
    """
    below = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    chance, ports = random.SystemRandom(), list[int]()
    with ExitStack() as stack:
        while len(ports) < count:
            wanted = chance.randrange(_LEAST, below) if below > _LEAST + 1000 else 0
            with suppress(OSError):  # it is taken
                made = stack.enter_context(socket.create_server(("127.0.0.1", wanted)))
                ports.append(made.getsockname()[1])
    return ports

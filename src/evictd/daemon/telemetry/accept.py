"""Accepts connections within a bound of processor time, however often clients connect.

A served connection costs about half a millisecond, and evictd's limit may be a tenth of a processor: two pods that connected in a
loop to the probes' address made a cycle take 48 ms instead of 2.5 ms, and probes failed. So a bucket of `BURST` connections is
refilled at `PER_SECOND`. While it is empty, connections are accepted only every `PAUSE_SECONDS`; of those that wait then, the
newest connection of each source is served, then the next newest, as far as the bucket allows. The others are closed, which costs
some microseconds. A probe so competes with one connection of each other source, and no client waits behind its own older
attempts.

A page is paid from the same bucket: that of a node with a hundred pods takes 30 to 70 ms, in which a cycle waits for the
interpreter. While the bucket holds less than one connection nothing is accepted, and what connects waits.
"""

import socket
from asyncio import AbstractEventLoop
from collections.abc import Callable, Iterator, Sequence

BURST, PER_SECOND = 64, 40
PAUSE_SECONDS = 0.2
LOAD = 0.2
"""The part of a processor that pages may take for long."""
BACKLOG = 512
"""Connections that the kernel keeps meanwhile, and at most are accepted at once."""

_LOCAL = "unix"
"""The source of all connections to a unix socket: such a client has no address."""

Accepted = tuple[str, socket.socket]
"""The source's address, and the connection."""


class Acceptor:
    """Passes accepted connections to `serve`, which is called on the loop's thread."""

    def __init__(
        self, listener: socket.socket, loop: AbstractEventLoop, serve: Callable[[str, socket.socket], object]
    ) -> None:
        listener.setblocking(False)
        self._listener = listener
        self._loop = loop
        self._serve = serve
        self._left = float(BURST)
        self._at = loop.time()
        self._listen()

    def close(self) -> None:
        """Close the listening socket; called on the loop's thread, or once it has ended."""
        self._loop.remove_reader(self._listener)
        self._listener.close()

    def spend(self, seconds: float) -> None:
        """Take the processor time of a page, in seconds, from the bucket; called on the loop's thread."""
        self._left -= seconds * PER_SECOND / LOAD

    def _listen(self) -> None:
        if self._listener.fileno() >= 0:
            self._loop.add_reader(self._listener, self._accept)

    def _accept(self) -> None:
        now = self._loop.time()
        self._left = min(BURST, self._left + (now - self._at) * PER_SECOND)
        self._at = now
        if self._left < 1:  # less than one connection: what waits would be closed although it is no flood
            self._pause(PAUSE_SECONDS + max(0.0, -self._left) / PER_SECOND)
            return
        waiting = list(self._waiting())
        served = newest_of_each_source(waiting, int(self._left))
        self._left -= len(served)
        for source, connection in reversed(served):  # the server closes the oldest
            self._serve(source, connection)
        for each in waiting:
            if each not in served:
                each[1].close()
        if self._left < 1 or not waiting:  # nothing, although the socket was ready: no descriptor is free
            self._pause(PAUSE_SECONDS)

    def _pause(self, seconds: float) -> None:
        self._loop.remove_reader(self._listener)
        self._loop.call_later(seconds, self._listen)

    def _waiting(self) -> Iterator[Accepted]:
        for _ in range(BACKLOG):
            try:
                connection, address = self._listener.accept()
            except OSError:
                return
            connection.setblocking(False)
            yield str(address[0]) if address else _LOCAL, connection


def newest_of_each_source(waiting: Sequence[Accepted], most: int) -> list[Accepted]:
    """Choose at most `most` of the connections, which are oldest first: the newest of each source, then the next newest."""
    rank: dict[str, int] = {}
    ranked = []
    for each in reversed(waiting):
        rank[each[0]] = rank.get(each[0], -1) + 1
        ranked.append((rank[each[0]], each))
    return [each for _, each in sorted(ranked, key=lambda pair: pair[0])[:most]]

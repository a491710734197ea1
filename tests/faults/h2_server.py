"""A runtime that speaks HTTP/2 frame by frame, so that a test decides what each call meets: reset, GOAWAY, half a message."""

import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from h2.config import H2Configuration
from h2.connection import ConnectionState, H2Connection
from h2.events import ConnectionTerminated, Event, StreamEnded, StreamReset
from h2.exceptions import StreamClosedError

HEADERS = [(":status", "200"), ("content-type", "application/grpc")]
OK = [("grpc-status", "0")]


@dataclass(slots=True)
class Served:
    """One connection, at the time of a complete request; `events` are those of all connections so far."""

    connection: socket.socket
    http: H2Connection
    stream: int = 0
    events: list[Event] = field(default_factory=list)

    def send(self) -> None:
        """Write what the calls of `http` have queued."""
        self.connection.sendall(self.http.data_to_send())

    def answer(self, message: bytes, *, length: int | None = None, flag: int = 0) -> None:
        """Send headers and a message, which may be longer or shorter than its stated length, without an end."""
        self.http.send_headers(self.stream, HEADERS)
        self.http.send_data(
            self.stream, bytes([flag]) + (len(message) if length is None else length).to_bytes(4) + message
        )

    def finish(self) -> None:
        """Send the trailers of success."""
        self.http.send_headers(self.stream, OK, end_stream=True)


Respond = Callable[[Served], None]


def http2(respond: Respond, events: list[Event]) -> Callable[[socket.socket], None]:
    """Build what serves one connection to its end for `foreign_server`: `respond` is called at each complete request."""

    def greet(connection: socket.socket) -> None:
        http = H2Connection(H2Configuration(client_side=False))
        http.initiate_connection()
        served = Served(connection, http, events=events)
        with suppress(OSError):  # the client is gone
            served.send()
            while data := connection.recv(1 << 16):
                if _is_closed(http):
                    continue  # after GOAWAY: what the client had sent already
                for event in http.receive_data(data):
                    events.append(event)
                    # The client may have given up the call, or left, in the same packet.
                    if isinstance(event, StreamEnded) and not _is_closed(http):
                        served.stream = event.stream_id
                        with suppress(StreamClosedError):
                            respond(served)
                served.send()
        connection.close()

    return greet


def _is_closed(http: H2Connection) -> bool:
    return http.state_machine.state is ConnectionState.CLOSED


def was_reset(events: list[Event]) -> bool:
    """Whether the client has cancelled a call on the wire, or left."""
    return any(isinstance(event, StreamReset | ConnectionTerminated) for event in events)

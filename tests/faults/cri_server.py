"""Runs a real gRPC server on a unix socket whose responses a test defines: correct, late, wrong or none."""

import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import grpc

Answer = Callable[[bytes, grpc.ServicerContext], bytes]
"""Takes and gives the bytes on the wire; may abort the call."""


@contextmanager
def fake_runtime(path: Path, answers: Mapping[str, Answer], *, threads: int = 8) -> Iterator[str]:
    """Serve responses by method name, so many at a time; other methods are UNIMPLEMENTED. Yields the endpoint."""
    methods = {name: grpc.unary_unary_rpc_method_handler(answer) for name, answer in answers.items()}
    services = [f"runtime.v1.{name}" for name in ("RuntimeService", "ImageService")]
    handlers = [grpc.method_handlers_generic_handler(service, methods) for service in services]
    server = grpc.server(ThreadPoolExecutor(threads), handlers=handlers)
    server.add_insecure_port(f"unix://{path}")
    server.start()
    try:
        yield f"unix://{path}"
    finally:
        server.stop(0).wait(60)


@contextmanager
def foreign_server(path: Path, greet: Callable[[socket.socket], None]) -> Iterator[str]:
    """Listen with a server that is no runtime: `greet` is called with each connection. Yields the endpoint."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()
    connections: list[socket.socket] = []

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return  # closed
            connections.append(connection)
            try:
                greet(connection)
            except OSError:
                continue  # the other side is gone

    thread = threading.Thread(target=accept)
    thread.start()
    try:
        yield f"unix://{path}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(60)
        for connection in connections:
            connection.close()


def failing(code: grpc.StatusCode, details: str) -> Answer:
    """Build a response that is an error."""

    def answer(_: bytes, context: grpc.ServicerContext) -> bytes:
        context.abort(code, details)
        raise AssertionError  # abort raises

    return answer

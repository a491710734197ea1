"""`evictd status`: what the running daemon sees.

Reads `/statusz` over loopback and shows it; `--watch` repeats that every second. The daemon computes everything, so the command
also works against a daemon in another container of the node.
"""

import argparse
import json
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from typing import Any

from evictd.errors import NOTHING_YET, ExitCode, InputError, NodeError
from evictd.render.console import make_console, whole_screen
from evictd.render.output import TABLE, add_output_argument, write_document

DEFAULT_ADDRESS = "127.0.0.1:10277"
"""The default of `listenAddress`; a literal, because importing the settings takes half of the time of `status`."""

_TIMEOUT_SECONDS = 10
_PORTS = 1 << 16
_SCHEME = "http://"
"""Accepted before an address, as a browser's is copied with it."""
_MOST_BYTES = 32 << 20
"""Most bytes of an answer (with 500 pods one MiB): without evictd any program of the node may listen at the address."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "--address", default=DEFAULT_ADDRESS, help="where the daemon listens (its listenAddress; default %(default)s)"
    )
    parser.add_argument("--watch", action="store_true", help="repeat once a second until interrupted")
    add_output_argument(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """Show the status once, or repeatedly with `--watch`."""
    if args.watch and args.output == TABLE:
        _watch(args.address)
    while True:
        document = fetch(args.address)
        if args.output == TABLE:
            from evictd.render.status.view import status_view  # noqa: PLC0415 - rich takes a third of the time of `status`

            console = make_console(sys.stdout)
            with understood(args.address):
                console.print(status_view(document, width=console.width))
        else:
            write_document(document, args.output, sys.stdout)
        if not args.watch:
            return ExitCode.DONE
        sys.stdout.flush()
        threading.Event().wait(1)


def fetch(address: str, path: str = "/statusz") -> Mapping[str, Any]:
    """Get a JSON document of the daemon; raises `NodeError` if it is not there or answers nonsense.

    An address that is no host and port is an `InputError`.
    """
    host, _, port = address.removeprefix(_SCHEME).removesuffix("/").rpartition(":")
    try:
        connection = HTTPConnection(host.strip("[]"), _port(host, port), timeout=_TIMEOUT_SECONDS)
    except (ValueError, HTTPException) as error:
        raise InputError(f"--address {address}: is no host:port; give {DEFAULT_ADDRESS}") from error
    try:
        connection.request("GET", path)
        with connection.getresponse() as answer:
            text = answer.read(_MOST_BYTES)  # what is cut off there is no JSON
    except (OSError, HTTPException, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise NodeError(f"no evictd answers at {address}: {reason}; is `evictd run` running?") from error
    finally:
        connection.close()
    if answer.status == 503 and text.strip() == NOTHING_YET.encode():
        raise NodeError(f"{address}: evictd is starting: {NOTHING_YET}")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NodeError(f"{address}: answers, but is no evictd: {path} is no JSON (status {answer.status})") from error
    if answer.status != 200 or not isinstance(document, dict):
        raise NodeError(f"{address}{path}: answered {answer.status}: {document}")
    return document


def _port(host: str, port: str) -> int:
    number = int(port)
    if not host or "/" in host or not 0 < number < _PORTS:
        raise ValueError(port)
    return number


@contextmanager
def understood(address: str) -> Iterator[None]:
    """Raise `NodeError` where a document has not the fields that this version of evictd sends."""
    try:
        yield
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError) as error:
        raise NodeError(f"{address}: answers as no evictd of this version does: {error!r}") from error


def _watch(address: str) -> None:
    from evictd.render.status.view import status_view  # noqa: PLC0415

    console = make_console(sys.stdout)
    with whole_screen(console) as show:
        while True:
            try:
                with understood(address):
                    show(status_view(fetch(address), width=console.width, height=console.height))
            except NodeError as error:  # it may be restarting
                show(str(error))
            threading.Event().wait(1)

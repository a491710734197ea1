"""`evictd status`: what does the running daemon see?

Asks it over loopback and shows the answer; `--watch` goes on asking. Everything that is computed is computed there:
this is a window, and works as well against a daemon in another container of the node.
"""

import argparse
import json
import sys
import threading
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.text import Text

from evictd.errors import ExitCode, NodeError
from evictd.offline.output import TABLE, add_output_argument, write_document
from evictd.offline.status_view import status_view

DEFAULT_ADDRESS = "127.0.0.1:10258"

_TIMEOUT_SECONDS = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "--address", default=DEFAULT_ADDRESS, help="where the daemon listens (its listenAddress; default %(default)s)"
    )
    parser.add_argument("--watch", action="store_true", help="go on until interrupted, once a second")
    add_output_argument(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """Ask once, or again and again."""
    if args.watch and args.output == TABLE:
        _watch(args.address)
    while True:
        document = fetch(args.address)
        if args.output == TABLE:
            _show(document)
        else:
            write_document(document, args.output, sys.stdout)
        if not args.watch:
            return ExitCode.DONE
        sys.stdout.flush()
        threading.Event().wait(1)


def fetch(address: str, path: str = "/statusz") -> Mapping[str, Any]:
    """Get a JSON document of the daemon; raises `NodeError` if it is not there or answers nonsense."""
    host, _, port = address.rpartition(":")
    try:
        connection = HTTPConnection(host.strip("[]"), int(port), timeout=_TIMEOUT_SECONDS)
    except (ValueError, HTTPException) as error:
        raise NodeError(f"--address {address}: is no host:port; give {DEFAULT_ADDRESS}") from error
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        document = json.loads(answer.read())
    except (OSError, HTTPException, ValueError) as error:
        raise NodeError(f"no evictd answers at {address}: {error}; is `evictd run` running?") from error
    finally:
        connection.close()
    if answer.status != 200 or not isinstance(document, dict):
        raise NodeError(f"{address}{path}: answered {answer.status}: {document}")
    return document


def _show(document: Mapping[str, Any]) -> None:
    Console().print(status_view(document))


def _watch(address: str) -> None:
    with Live(console=Console(), screen=True, auto_refresh=False) as live:
        while True:
            try:
                live.update(status_view(fetch(address)), refresh=True)
            except NodeError as error:  # it may be restarting
                live.update(Text(str(error), style="red"), refresh=True)
            threading.Event().wait(1)

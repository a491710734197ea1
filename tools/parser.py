"""Makes evictd's argument parser with the arguments of every command; the program itself loads only the one it runs."""

import argparse
import importlib

from evictd import __version__
from evictd.cli import COMMANDS


def full_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog="evictd",
        description="Evict pods from a node that runs short of memory, disk space, inodes or process IDs.",
        epilog="Exit status: 0 done, 1 the answer is no, 2 bad usage or configuration, 3 node or server not reached.",
    )
    parser.add_argument("--version", action="version", version=f"evictd {__version__}", help="print the version")
    commands = parser.add_subparsers(title="commands", dest="command", metavar="COMMAND")
    for name, (module, about) in COMMANDS.items():
        text = f"{about[0].upper()}{about[1:]}."
        importlib.import_module(module).add_arguments(commands.add_parser(name, help=about, description=text))
    return parser

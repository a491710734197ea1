"""The command line: which command was asked for, and what its end means.

Each command is a module of its own with `add_arguments` and `run`; only the one that was asked for is imported, so that
`evictd status` does not load what the daemon needs. Every error of `evictd.errors` ends here, as one line a fault.
"""

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from types import ModuleType

from evictd import __version__
from evictd.config.flags import explicit_booleans
from evictd.errors import EvictdError, ExitCode, InputError

COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("evictd.daemon.run", "watch this node and evict when it must be"),
    "status": ("evictd.offline.status", "what the running daemon sees"),
    "check": ("evictd.offline.check", "validate a configuration, show its thresholds on this node, and lint it"),
    "explain": ("evictd.offline.explain", "who would go next for each signal, and why"),
    "simulate": ("evictd.offline.simulate", "the decisions over recorded or made-up input"),
    "replay": ("evictd.offline.replay", "a journal again, also under another configuration"),
    "capture": ("evictd.offline.capture", "record this node as a scenario file"),
    "demo": ("evictd.demo.command", "a disposable node that is put under pressure, live"),
}
"""By name: the module, imported when it is asked for, and what it does."""

_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and give the exit status (`ExitCode`; 130 after Ctrl-C)."""
    given = explicit_booleans(sys.argv[1:] if arguments is None else arguments)
    try:
        status = _run(given)
        sys.stdout.flush()
    except EvictdError as error:
        for line in _lines(error):
            sys.stderr.write(f"evictd: {line}\n")
        return error.exit_code
    except BrokenPipeError:
        _forget_stdout()
        return ExitCode.DONE
    except KeyboardInterrupt:
        return _INTERRUPTED
    return status


def _run(arguments: list[str]) -> int:
    name = next((one for one in arguments if not one.startswith("-")), "")
    module = _load(name) if name in COMMANDS else None
    args = _parser(name, module).parse_args(arguments)
    if module is None:  # argparse has already refused everything but a missing command
        _parser("", None).print_help(sys.stderr)
        return ExitCode.USAGE
    return int(module.run(args))


def _load(name: str) -> ModuleType:
    path, _ = COMMANDS[name]
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError as error:
        if error.name is None or not path.startswith(error.name):
            raise EvictdError(f"{name}: needs the Python package {error.name}, which is not installed") from error
        raise EvictdError(f"{name}: is not part of this build") from error


def _parser(chosen: str, module: ModuleType | None) -> argparse.ArgumentParser:
    """Make the parser; only the chosen command's arguments are known to it."""
    parser = argparse.ArgumentParser(
        prog="evictd",
        description="The kubelet's eviction manager as a daemon of its own.",
        epilog="Exit status: 0 done, 1 the answer is no, 2 bad usage or configuration, 3 node or server not reached.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"evictd {__version__}")
    commands = parser.add_subparsers(title="commands", dest="command", metavar="COMMAND")
    for name, (_, about) in COMMANDS.items():
        command = commands.add_parser(
            name, help=about, description=about[0].upper() + about[1:] + ".", allow_abbrev=False
        )
        if name == chosen and module is not None:
            module.add_arguments(command)
    return parser


def _lines(error: EvictdError) -> Sequence[str]:
    if isinstance(error, InputError):
        return error.problems
    return (" ".join(str(error).split()) or type(error).__name__,)


def _forget_stdout() -> None:
    """Send what is left in the buffer nowhere: the reader has gone, which is no fault."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

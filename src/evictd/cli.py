"""Parses the command line, runs one command, and maps its result to the exit status.

Each command is a module with `add_arguments` and `run`. Only the requested command's module is imported, so that `evictd status`
does not load the daemon's dependencies. Errors of `evictd.errors` are written to standard error, one line per problem.
"""

import argparse
import contextlib
import gc
import importlib
import io
import os
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import NoReturn

from evictd import __version__
from evictd.core.model.problem import printable, shown
from evictd.daemon.host.limits import require_limits
from evictd.errors import EvictdError, ExitCode, InputError, NodeError, NotFoundError, did_you_mean, most_similar

COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("evictd.daemon.run", "watch this node and evict pods under resource pressure"),
    "status": ("evictd.commands.status", "show what the running daemon observes and decides"),
    "check": ("evictd.commands.check", "validate a configuration, show its thresholds on this node, and warn"),
    "explain": ("evictd.commands.explain", "show which pod would be evicted next for each signal, and why"),
    "explain-alert": ("evictd.commands.explain_alert", "print the run book of an alert"),
    "simulate": (
        "evictd.commands.simulate",
        "compute the decisions for a scenario of observations, or play a world of pods",
    ),
    "replay": ("evictd.commands.replay", "compute a journal's decisions again, also under another configuration"),
    "history": ("evictd.commands.history", "show evictions, refusals, reclaims and conditions from the journal"),
    "why": ("evictd.commands.why", "say why a pod was evicted, or why it stays and what would evict it"),
    "incident": ("evictd.commands.incident", "show one eviction and everything around it, from the journal"),
    "advise": ("evictd.commands.advise", "derive thresholds and reservations from the journals of one node or many"),
    "capture": ("evictd.commands.capture", "record this node as a scenario file"),
    "cleanup": ("evictd.commands.cleanup", "remove the conditions and taints that a removed evictd left on nodes"),
    "demo": (
        "evictd.commands.demo",
        "run evictd on a disposable node that runs out of disk space, or a simulated one out of memory",
    ),
}
"""By name: the module, which is imported on demand, and what the command does."""

_OTHER_WORDS = {
    "version": "did you mean --version?",
    "evict": "`evictd run` evicts pods, and `evictd explain` shows which would be first",
}
"""Answers to words that are no command, and similar to none that is meant."""
_WITHOUT_CONFIGURATION = frozenset({"status", "cleanup", "explain-alert"})
"""Commands that take none of the configuration's flags, and do not wait for its import."""
_INTERRUPTED = 130
_SHORTENED = len("--mem")
"""The least that is taken for the beginning of an option."""
_MOST_MEANT = 3
"""The most options that are named for one that was shortened."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit status (`ExitCode`; 130 after Ctrl-C)."""
    _replace_closed_streams()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # no error for characters outside the terminal's encoding
    try:
        status = _run(list(sys.argv[1:] if arguments is None else arguments))
        sys.stdout.flush()
    except EvictdError as error:
        _report_error(error)
        return error.exit_code
    except BrokenPipeError:
        _discard_output()  # that a reader has closed the pipe is no error
        return ExitCode.DONE
    except MemoryError:
        fault = NodeError("out of memory; see the limits of this process and its cgroup")
        _report_error(fault)
        return fault.exit_code
    except OSError as error:  # the disk behind standard output is full, or a name is too long
        fault = NodeError(f"{shown(str(error.filename or 'standard output'))}: {error.strerror or error}")
        _report_error(fault)
        _discard_output()
        return fault.exit_code
    except KeyboardInterrupt:
        return _INTERRUPTED
    return status


def _replace_closed_streams() -> None:
    """Discard what is written to a stream whose descriptor was closed at the start: Python has `None` for it."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115 - until the program ends


def _discard_output() -> None:
    """Discard what is still buffered for standard output: writing it at exit would fail once more."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _report_error(error: EvictdError) -> None:
    """Write an error to standard error; a failure to write is ignored, as the exit status holds the result."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        prefix, width = "evictd: ", os.get_terminal_size(sys.stderr.fileno()).columns if sys.stderr.isatty() else 0
        for line in _lines(error):
            sys.stderr.write(f"{_folded(prefix, line, width)}\n")
            prefix = "  " if isinstance(error, NotFoundError) else prefix


def _folded(lead: str, text: str, width: int) -> str:
    """Return `lead` and `text` for a terminal of this width; 0 is no terminal, whose reader wants each fault on one line."""
    if not 0 < width < len(lead) + len(text):
        return lead + text
    from evictd.render.console import wrapped_lines  # noqa: PLC0415

    return "\n".join(wrapped_lines(lead, text, width))


def _run(arguments: list[str]) -> int:
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:2], "--help"]
    name = next((one for one in arguments if not one.startswith("-")), "")
    if name == "run" and "--help" not in arguments:
        require_limits()  # before its libraries are loaded: an import that runs out of memory names no limit
    module = _load(name) if name in COMMANDS else None
    if name not in _WITHOUT_CONFIGURATION:
        from evictd.config.flags import explicit_booleans  # noqa: PLC0415

        arguments = explicit_booleans(arguments)
    if name and module is None and (meant := _OTHER_WORDS.get(name) or did_you_mean(name, COMMANDS)):
        raise InputError(f"{name}: is no command; {meant}")
    if module is None and arguments[:1] == [name]:
        raise InputError(f"{name}: is no command; see `evictd --help`")
    parser = _parser(name, module)
    args, unknown = parser.parse_known_args(arguments)
    if unknown:
        command = f"evictd {name}".strip()
        # A value after an unknown option was taken for the file, and the file for one argument too many.
        unknown = [one for one in unknown if one.startswith("--")] or unknown
        meant = _boolean_meant(unknown[0], arguments) or _meant(unknown[0], _options(parser, name))
        remedy = f"did you mean {meant}?" if meant else f"see {command} --help"
        text = f"{command}: error: unrecognized arguments: {' '.join(unknown)}; {remedy}"
        parser.exit(ExitCode.USAGE, printable(text) + "\n")
    if module is None:  # argparse has already refused everything but a missing command
        _parser("", None).print_help(sys.stderr)
        return ExitCode.USAGE
    return int(module.run(args))


def _load(name: str) -> ModuleType:
    path, _ = COMMANDS[name]
    gc.disable()  # what an import makes is no garbage, and looking for some takes a fifth of the daemon's start
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError as error:
        if error.name is None or not path.startswith(error.name):
            raise EvictdError(f"{name}: needs the Python package {error.name}, which is not installed") from error
        raise EvictdError(f"{name}: is not part of this build") from error
    finally:
        gc.freeze()  # or the first collection, which comes at once, visits all of it
        gc.enable()


class _HelpFormatter(argparse.HelpFormatter):
    """Shows a boolean flag as it has to be written: `--dry-run=true|false`, because it takes no value after a space."""

    def _format_action_invocation(self, action: argparse.Action) -> str:
        return super()._format_action_invocation(action).replace(" true|false", "=true|false")


class _CommandParser(argparse.ArgumentParser):
    """Shows a command's own options first, then the configuration; `--help-kubelet-flags` shows the kubelet's."""

    def format_help(self) -> str:
        """Format the help without the kubelet's flags."""
        from evictd.config.flags import CONFIGURATION_GROUP, KUBELET_GROUP  # noqa: PLC0415

        groups = [group for group in self._action_groups if group.title != KUBELET_GROUP]
        groups.sort(key=lambda group: group.title == CONFIGURATION_GROUP)
        formatter = self._get_formatter()
        own = [each for group in groups if group.title != CONFIGURATION_GROUP for each in group._group_actions]
        formatter.add_usage(self.usage, own, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        for group in groups:
            formatter.start_section(group.title)
            formatter.add_text(group.description)
            formatter.add_arguments(group._group_actions)
            formatter.end_section()
        formatter.add_text(self.epilog)
        return formatter.format_help()

    def error(self, message: str) -> NoReturn:
        """Refuse the arguments in one line, without the usage, which the kubelet's flags make long."""
        self.exit(ExitCode.USAGE, printable(f"{self.prog}: error: {message}; see {self.prog} --help") + "\n")


def _parser(chosen: str, module: ModuleType | None) -> argparse.ArgumentParser:
    """Build the parser, with the arguments of the chosen command only."""
    parser = argparse.ArgumentParser(
        prog="evictd",
        description="The kubelet's eviction manager as a daemon of its own.",
        epilog="Exit status: 0 done, 1 the answer is no, 2 bad usage or configuration, 3 node or server not reached, "
        "4 another evictd uses the state directory.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"evictd {__version__}")
    commands = parser.add_subparsers(title="commands", dest="command", metavar="COMMAND", parser_class=_CommandParser)
    for name, (_, about) in COMMANDS.items():
        command = commands.add_parser(
            name,
            help=about,
            description=about[0].upper() + about[1:] + ".",
            allow_abbrev=False,
            formatter_class=_HelpFormatter,
        )
        if name == chosen and module is not None:
            module.add_arguments(command)
    return parser


def _options(parser: argparse.ArgumentParser, command: str) -> tuple[str, ...]:
    """Return the options of a command, without one those of evictd itself; none of an unknown one."""
    (commands,) = (each for each in parser._actions if isinstance(each, argparse._SubParsersAction))
    known = commands.choices.get(command) if command else parser
    return tuple(option for action in known._actions for option in action.option_strings) if known else ()


def _boolean_meant(unknown: str, arguments: Sequence[str]) -> str:
    """Return the boolean flag with the value that was given after a blank and not after `=`; else empty."""
    if unknown not in {"true", "false"}:
        return ""
    flags = (flag for flag, value in pairwise(arguments) if value == unknown and flag.endswith("=true"))
    return next((f"{flag.removesuffix('true')}{unknown}" for flag in flags), "")


def _meant(unknown: str, options: tuple[str, ...]) -> str:
    """Return the arguments that an unknown one may have been meant as, empty if none is near."""
    if unknown.startswith("-"):
        option = unknown.partition("=")[0]
        longer = [one for one in options if one.startswith(option)] if len(option) >= _SHORTENED else []
        return " or ".join(longer[:_MOST_MEANT]) or most_similar(option, options, similarity=0.7)
    return f"--config {unknown}" if "--config" in options and Path(unknown).is_file() else ""


def _lines(error: EvictdError) -> Sequence[str]:
    # Names of fields and files in a message are untrusted and may hold terminal control sequences.
    if isinstance(error, NotFoundError):
        return tuple(printable(line) for line in str(error).split("\n"))
    lines = error.problems if isinstance(error, InputError) else (" ".join(str(error).split()) or type(error).__name__,)
    return tuple(printable(line) for line in lines)

"""`evictd replay JOURNAL`: decides a journal again and compares.

A journal line holds all arguments of the core, so every entry is decided again and compared with what was decided then. Under
another configuration or policy it shows what would have been different; the state is then carried on from entry to entry,
because timers that started then would not have started now. What the node did afterwards is as it was recorded.
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from evictd.codec.journal import JournalEntry, decode_entry
from evictd.codec.times import parse_time
from evictd.commands.source import add_config_arguments, add_plot_argument, check_plot
from evictd.config.file import STANDARD_INPUT, load, shown_path
from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.config import EvictionConfig, Policy
from evictd.core.model.state import State
from evictd.errors import ExitCode, InputError, InvalidValueError
from evictd.render.console import make_console
from evictd.render.output import TABLE, add_output_argument, write_document
from evictd.render.plot import draw
from evictd.render.replayed import Replayed, plain_decisions, print_replayed, replay_document, without_wait
from evictd.render.text import clean
from evictd.simulation import SimulatedCycle, Turn

_MAX_LINE = 64 << 20

Line = TypeVar("Line")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "journal",
        nargs="+",
        type=Path,
        metavar="JOURNAL",
        help="journal files, oldest first; - for standard input",
    )
    add_config_arguments(parser)
    add_output_argument(parser)
    add_plot_argument(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """Decide every entry again, and show which came out differently."""
    check_plot(args.plot)
    entries, problems = read_journals(args.journal)
    for problem in problems:
        sys.stderr.write(f"evictd: {clean(problem)}; skipped\n")
    if not entries:
        raise InputError(f"{args.journal[0]}: there is no journal entry in it")
    other = args.config is not None or args.policy is not None
    replayed = tuple(replay_under(entries, args) if other else replay(entries))
    if args.plot is not None:
        draw(args.journal[-1].name, cycles_of(replayed), args.plot, subtitle="replayed", begin=_begin(entries))
    if args.output == TABLE:
        print_replayed(replayed, make_console(sys.stdout), other=other)
    else:
        write_document(replay_document(replayed), args.output, sys.stdout)
    return ExitCode.DONE if other or all(one.same for one in replayed) else ExitCode.NO


def _begin(entries: Sequence[JournalEntry]) -> int | None:
    """Give the wall clock of the first entry, in nanoseconds; `None` where it cannot be read."""
    try:
        return parse_time(entries[0].wall) if entries else None
    except InvalidValueError:
        return None


# --- reading ----------------------------------------------------------------------------------------------------------


def read_journals(paths: Sequence[Path]) -> tuple[list[JournalEntry], list[str]]:
    """Read journal files in this order; a damaged line (a full disk cuts one short) is a problem, not the end."""
    return read_lines(paths, decode_entry)


def read_lines(paths: Sequence[Path], decode: Callable[[bytes], Line]) -> tuple[list[Line], list[str]]:
    """Decode each line of journal files in this order, with the problems of damaged ones; raises `InputError` if all are."""
    entries: list[Line] = []
    problems: list[str] = []
    for path in paths:
        for number, line in _numbered_lines(path):
            try:
                entries.append(decode(line))
            except InputError as error:
                problems.append(f"{shown_path(path)}: line {number}: {error.problems[0]}")
    if not entries and problems:
        raise InputError(problems[0])
    return entries, problems


def _numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with nullcontext(sys.stdin.buffer) if path == STANDARD_INPUT else path.open("rb") as file:
            number = 0
            while line := file.readline(_MAX_LINE + 1):
                number += 1
                if len(line) > _MAX_LINE:
                    raise InputError(
                        f"{shown_path(path)}: line {number}: is longer than {_MAX_LINE} bytes; it is no journal"
                    )
                if line.strip():
                    yield number, line
    except OSError as error:
        raise InputError(f"{shown_path(path)}: {error.strerror or error}") from error


# --- deciding ---------------------------------------------------------------------------------------------------------


def replay(entries: Iterable[JournalEntry]) -> Iterator[Replayed]:
    """Decide each entry from the state and configuration that were recorded with it."""
    for entry in entries:
        step = synchronize(entry.state, entry.observation, entry.config, entry.now)
        yield Replayed(entry=entry, step=step, same=plain_decisions(step) == list(entry.decisions))


def replay_under(entries: Iterable[JournalEntry], args: argparse.Namespace) -> Iterator[Replayed]:
    """Decide each entry by the configuration that was asked for, starting from the state recorded first."""
    given = None if args.config is None else load(Path(args.config)).eviction
    policy = None if args.policy is None else Policy(args.policy)
    state: State | None = None
    last = 0
    for entry in entries:
        config = _other(entry.config, given, policy)
        if state is None or entry.now < last:  # the first entry, or the first one after a boot
            state = entry.state
        # Cycles without a decision are not in the journal; evictd was absent only where it was when the entry was made.
        seen = replace(state, last_cycle_at=entry.state.last_cycle_at, started_at=entry.state.started_at)
        step = synchronize(seen, entry.observation, config, entry.now)
        state, last = step.state, entry.now
        yield Replayed(
            entry=entry, step=step, same=without_wait(plain_decisions(step)) == without_wait(entry.decisions)
        )


def _other(recorded: EvictionConfig, given: EvictionConfig | None, policy: Policy | None) -> EvictionConfig:
    config = recorded if given is None else replace(given, protected_pods=recorded.protected_pods)
    return config if policy is None else replace(config, policy=policy)


def cycles_of(replayed: Sequence[Replayed]) -> tuple[SimulatedCycle, ...]:
    """Make cycles of replayed entries, its times counted from the first one."""
    start = replayed[0].entry.now if replayed else 0
    return tuple(
        SimulatedCycle(at=one.entry.now - start, turns=(Turn(observation=one.entry.observation, step=one.step),))
        for one in replayed
    )

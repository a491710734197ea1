"""`evictd replay JOURNAL`: would the same be decided again?

A journal line holds all arguments of the core, so every entry is decided again and compared with what was decided then. Under
another configuration or policy it shows what would have been different; the state is then carried on from entry to entry,
because timers that started then would not have started now. What the node did afterwards is as it was recorded.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evictd.codec.decision import encode_decision
from evictd.codec.journal import JournalEntry, decode_entry
from evictd.config.file import load
from evictd.core.config import EvictionConfig, Policy
from evictd.core.state import State, Step
from evictd.core.synchronize import synchronize
from evictd.errors import ExitCode, InputError
from evictd.offline.console import make_console
from evictd.offline.output import TABLE, add_output_argument, write_document
from evictd.offline.plot import add_plot_argument, check_plot, draw
from evictd.offline.rehearse import Cycle, Turn
from evictd.offline.source import add_config_arguments
from evictd.offline.story import API_VERSION, Document
from evictd.offline.words import clean, say_decision

if TYPE_CHECKING:
    from rich.console import Console

_MAX_LINE = 64 << 20

Plain = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """One entry, decided again."""

    entry: JournalEntry
    step: Step
    same: bool


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("journal", nargs="+", type=Path, metavar="JOURNAL", help="journal files, the oldest first")
    add_config_arguments(parser)
    add_output_argument(parser)
    add_plot_argument(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """Decide every entry again, and say where that came out differently."""
    check_plot(args.plot)
    entries, problems = read_journals(args.journal)
    for problem in problems:
        sys.stderr.write(f"evictd: {problem}; skipped\n")
    if not entries:
        raise InputError(f"{args.journal[0]}: there is no journal entry in it")
    other = args.config is not None or args.policy is not None
    replayed = tuple(replay_under(entries, args) if other else replay(entries))
    if args.plot is not None:
        draw(args.journal[-1].name, cycles_of(replayed), args.plot, subtitle="replayed")
    if args.output == TABLE:
        _print(replayed, make_console(sys.stdout), other=other)
    else:
        write_document(_document(replayed), args.output, sys.stdout)
    return ExitCode.DONE if other or all(one.same for one in replayed) else ExitCode.NO


# --- reading ----------------------------------------------------------------------------------------------------------


def read_journals(paths: Sequence[Path]) -> tuple[list[JournalEntry], list[str]]:
    """Read journal files in this order; a damaged line (a full disk cuts one short) is a problem, not the end."""
    entries: list[JournalEntry] = []
    problems: list[str] = []
    for path in paths:
        for number, line in _numbered_lines(path):
            try:
                entries.append(decode_entry(line))
            except InputError as error:
                problems.append(f"{path}: line {number}: {error.problems[0]}")
    if not entries and problems:
        raise InputError(problems[0])
    return entries, problems


def _numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(_MAX_LINE + 1):
                number += 1
                if len(line) > _MAX_LINE:
                    raise InputError(f"{path}: line {number}: is longer than {_MAX_LINE} bytes; it is no journal")
                if line.strip():
                    yield number, line
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error


# --- deciding ---------------------------------------------------------------------------------------------------------


def replay(entries: Iterable[JournalEntry]) -> Iterator[Replayed]:
    """Decide each entry from the state and configuration that were recorded with it."""
    for entry in entries:
        step = synchronize(entry.state, entry.observation, entry.config, entry.now)
        yield Replayed(entry=entry, step=step, same=_plain(step) == list(entry.decisions))


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
        step = synchronize(state, entry.observation, config, entry.now)
        state, last = step.state, entry.now
        yield Replayed(entry=entry, step=step, same=_without_wait(_plain(step)) == _without_wait(entry.decisions))


def _other(recorded: EvictionConfig, given: EvictionConfig | None, policy: Policy | None) -> EvictionConfig:
    config = recorded if given is None else replace(given, protected_pods=recorded.protected_pods)
    return config if policy is None else replace(config, policy=policy)


def _plain(step: Step) -> list[Plain]:
    """Give the decisions as a journal line has them."""
    plain: list[Plain] = json.loads(json.dumps([encode_decision(decision) for decision in step.decisions]))
    return plain


def _without_wait(decisions: Iterable[Plain]) -> list[Plain]:
    return [decision for decision in decisions if decision.get("kind") != "Wait"]


def cycles_of(replayed: Sequence[Replayed]) -> tuple[Cycle, ...]:
    """Make a story of replayed entries, its times counted from the first one."""
    start = replayed[0].entry.now if replayed else 0
    return tuple(
        Cycle(at=one.entry.now - start, turns=(Turn(observation=one.entry.observation, step=one.step),))
        for one in replayed
    )


# --- saying -----------------------------------------------------------------------------------------------------------


def say_recorded(decision: Plain) -> str:
    """Say in one line what a journal line says was decided."""
    match decision.get("kind"):
        case "ReportConditions":
            return f"report node conditions: {', '.join(decision['conditions']) or 'none'}"
        case "RecordEvent":
            return f"{decision['type']} event {decision['reason']}: {clean(decision['message'])}"
        case "ReclaimNode":
            signal = decision["threshold"]["signal"]
            return f"delete unused {' and '.join(decision['actions'])} for {signal}"
        case "EvictPod":
            pod, because = decision["pod"], decision["because"]
            name = clean(f"{pod['namespace']}/{pod['name']}")
            verb = "shorten the grace of" if decision["shortens"] else "evict"
            return f"{verb} {name} (grace period {decision['gracePeriodSeconds']}s) for {because['signal']}"
        case kind:
            return clean(str(kind))


def _print(replayed: Sequence[Replayed], to: "Console", *, other: bool) -> None:
    different = [one for one in replayed if not one.same]
    for one in different:
        to.print(f"at {clean(one.entry.wall)}", style="bold cyan")
        for decision in _without_wait(one.entry.decisions):
            to.print(f"  - then: {say_recorded(decision)}")
        for fresh in one.step.decisions[:-1]:
            to.print(f"  + now:  {say_decision(fresh)}", style="bold")
        if len(one.step.decisions) == 1:
            to.print("  + now:  nothing", style="bold")
    would = "would have been decided differently" if other else "are decided differently"
    verdict = f"{len(replayed)} entries, {len(different)} {would}"
    to.print(verdict, style="bold yellow" if different else "bold green")


def _document(replayed: Sequence[Replayed]) -> Document:
    return {
        "apiVersion": API_VERSION,
        "kind": "Replay",
        "different": sum(not one.same for one in replayed),
        "entries": [
            {
                "wall": one.entry.wall,
                "same": one.same,
                "recorded": list(one.entry.decisions),
                "decided": _plain(one.step),
            }
            for one in replayed
        ],
    }

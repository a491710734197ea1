"""`evictd history [JOURNAL ...]`: shows what happened on a node, from its journal.

Evictions, refusals, collections and node conditions, oldest first, over restarts of the daemon and of the machine. Without a file
it reads the journal of this node's daemon. `--pod` keeps the events of one pod, `--since` the last hours.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from evictd.codec.journal_record import decode_record
from evictd.codec.times import parse_time
from evictd.commands.replay import read_lines
from evictd.core.units.duration import parse_duration
from evictd.errors import ExitCode, InputError, InvalidValueError
from evictd.render.console import make_console
from evictd.render.history import HistoryEvent, condition_spans, history, history_document, print_history
from evictd.render.history_page import history_page
from evictd.render.output import TABLE, add_output_argument, write_document
from evictd.render.parquet import write_parquet
from evictd.render.text import clean

HTML, PARQUET = "html", "parquet"
DEFAULT_STATE_DIRECTORY = Path("/var/lib/evictd")
"""The default of `stateDirectory`."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "journal", nargs="*", type=Path, metavar="JOURNAL", help="journal files, oldest first; default: this node's"
    )
    add_directory_argument(parser)
    parser.add_argument("--pod", metavar="NAMESPACE/POD", default="", help="only the events of this pod")
    parser.add_argument("--since", metavar="DURATION", help="only the last part of the journal, such as 24h")
    add_output_argument(parser, HTML, PARQUET)


def add_directory_argument(parser: argparse.ArgumentParser) -> None:
    """Add `--directory`."""
    parser.add_argument(
        "--directory",
        type=Path,
        default=DEFAULT_STATE_DIRECTORY,
        metavar="DIRECTORY",
        help="where this node's daemon keeps its journal (its stateDirectory; default %(default)s)",
    )


def run(args: argparse.Namespace) -> ExitCode:
    """Read the journal and show its events."""
    events = read_history(args.journal or journal_files(args.directory))
    spans = condition_spans(events)
    if args.pod:
        events = [event for event in events if event.pod == clean(args.pod)]
    if args.since is not None:
        events = _since(events, args.since)
    if args.output == PARQUET:
        if sys.stdout.isatty():
            raise InputError("--output parquet: is not for a terminal; redirect it to a file")
        write_parquet(events, sys.stdout.buffer)
    elif args.output == HTML:
        sys.stdout.write(history_page(events, spans))
    elif args.output == TABLE:
        print_history(events, spans, make_console(sys.stdout))
    else:
        write_document(history_document(events, spans), args.output, sys.stdout)
    return ExitCode.DONE


def journal_files(directory: Path) -> list[Path]:
    """Find the journal of a state directory, oldest file first; raises `InputError` if there is none."""
    newest = directory / "journal.jsonl"
    older = sorted(directory.glob("journal.[0-9]*.jsonl"), key=_number, reverse=True)
    found = [path for path in (*older, newest) if path.exists()]
    if not found:
        raise InputError(f"{directory}: there is no journal; name the files, or the stateDirectory with --directory")
    return found


def _number(path: Path) -> int:
    middle = path.name.split(".")[1]
    return int(middle) if middle.isdecimal() else 0


def read_history(paths: Sequence[Path]) -> list[HistoryEvent]:
    """Read the events of journal files; a damaged line is reported on standard error and skipped."""
    records, problems = read_lines(paths, decode_record)
    for problem in problems:
        sys.stderr.write(f"evictd: {clean(problem)}; skipped\n")
    return list(history(records))


def _since(events: list[HistoryEvent], text: str) -> list[HistoryEvent]:
    """Keep the events of so long before the last one."""
    try:
        length = parse_duration(text)
    except InvalidValueError as error:
        raise InputError(f"--since: {text}: {error}; a duration looks like 90s or 24h") from error
    if not events:
        return events
    begin = parse_time(events[-1].at) - length
    return [event for event in events if parse_time(event.at) >= begin]

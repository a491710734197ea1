"""`evictd incident [ID|last]`: shows one eviction and everything around it, from the journal of this node's daemon.

It shows the signal with its thresholds, the ranking at that moment, the bytes and the pods that came back, the events, and the
settings that would have avoided it. `--output html` writes one file to attach to a ticket. An ID is the beginning of the pod's
uid; `--list` shows all.
"""

import argparse
import sys
from collections.abc import Sequence

from evictd.codec.records.journal_record import JournalRecord, decode_record
from evictd.codec.times import parse_time
from evictd.commands.decided.incident_decided import evictions_or_reason, read_incident
from evictd.commands.inputs.journals import (
    add_journal_options,
    add_journals_beside,
    journals_of,
    named_behind_journals,
    named_beside_journals,
    read_journals,
)
from evictd.commands.inputs.last_part import add_since_argument, begin_of
from evictd.errors import ExitCode, InputError, NoEvictionError
from evictd.render.console import make_console, print_line
from evictd.render.history.evictions import last_of_each
from evictd.render.history.folded_events import folded_events
from evictd.render.history.history import history
from evictd.render.incident.incident_list import incident_list_document, kills_text, listed_lines
from evictd.render.incident.view import incident_document, incident_page, print_incident
from evictd.render.output import TABLE, add_output_argument, write_document
from evictd.render.text import capital, clean, incident_id

LAST, HTML = "last", "html"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "incident",
        nargs="?",
        metavar="ID",
        help="the beginning of the evicted pod's uid, its NAMESPACE/POD, or last (default)",
    )
    add_journals_beside(parser)
    parser.add_argument(
        "--list",
        action="store_true",
        help="list the incidents of the journal, oldest first; each pod once, with its last eviction",
    )
    parser.add_argument(
        "--all", action="store_true", help="list also what repeats the incidents before it, in the table"
    )
    add_since_argument(parser)
    add_journal_options(parser)
    add_output_argument(parser, HTML)


def run(args: argparse.Namespace) -> ExitCode:
    """Read the journal and show the incident."""
    wanted = named_beside_journals(args, args.incident, "ID") or LAST
    if wanted == LAST:
        wanted = named_behind_journals(args) or LAST
    if args.since is not None and not args.list:
        raise InputError("--since: is for --list")
    paths = journals_of(args)
    try:
        if args.list:
            return _list(args, read_journals(paths, decode_record))
        found = read_incident(paths, wanted)
    except NoEvictionError as error:
        answers = error.kernel_killed and wanted == LAST
        if args.output == HTML or (args.output == TABLE and not answers):
            raise
        if args.output == TABLE:
            _print_lines(str(error))
        else:
            write_document(incident_list_document((), str(error)), args.output, sys.stdout)
        return ExitCode.DONE if answers else error.exit_code
    if args.output == TABLE:
        print_incident(found, make_console(sys.stdout))
    elif args.output == HTML:
        sys.stdout.write(incident_page(found))
    else:
        write_document(incident_document(found), args.output, sys.stdout)
    return ExitCode.DONE


def _print_lines(text: str) -> None:
    """Print what answers instead of an incident, each line on its own."""
    console = make_console(sys.stdout)
    for line in text.splitlines():
        print_line(console, "", capital(line))


def _list(args: argparse.Namespace, records: Sequence[JournalRecord]) -> ExitCode:
    evictions, events = evictions_or_reason(records), list(history(records))
    if args.output == HTML:
        raise InputError("--list: is a table, json or yaml; `evictd history --output html` writes all events")
    if args.since is not None:
        begin = begin_of(events, args.since)
        evictions = [each for each in evictions if parse_time(each.at) >= begin]
        events = [each for each in events if parse_time(each.at) >= begin]
    evictions = last_of_each(evictions)
    if args.output != TABLE:
        write_document(incident_list_document(evictions), args.output, sys.stdout)
        return ExitCode.DONE
    console = make_console(sys.stdout)
    if not evictions:
        print_line(console, "", f"no eviction in the last {args.since} of the journal")
    for each in evictions if args.all else folded_events(evictions, "--all"):
        if isinstance(each, str):
            print_line(console, "", each)
            continue
        first, *others = listed_lines(each)
        print_line(console, f"{incident_id(each.uid)}  {clean(each.at)}  ", first)
        for line in others:
            print_line(console, "  ", line)
    if kills := kills_text(events):
        print_line(console, "", kills)
    return ExitCode.DONE

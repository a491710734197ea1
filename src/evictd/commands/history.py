"""`evictd history [JOURNAL ...]`: shows what happened on a node, from its journal.

Evictions, refusals, collections and node conditions, oldest first, over restarts of the daemon and of the machine. Without a file
it reads the journal of this node's daemon. `--pod` keeps the events of one pod, `--since` the last hours.
`--compare-kubelet` shows the pods that the kubelet evicted beside those that evictd chose, also in a dry run.
"""

import argparse
import sys

from evictd.codec.records.journal_record import decode_record
from evictd.codec.times import parse_time
from evictd.commands.inputs.journals import add_journal_argument, add_journal_options, journals_of, read_journals
from evictd.commands.inputs.last_part import add_since_argument, begin_of
from evictd.errors import ExitCode, InputError
from evictd.render.console import make_console
from evictd.render.history.condition_spans import condition_spans
from evictd.render.history.document import history_document
from evictd.render.history.history import EventKind, HistoryEvent, history
from evictd.render.history.kubelet_comparison import (
    compare_with_kubelet,
    kubelet_comparison_document,
    print_kubelet_comparison,
)
from evictd.render.history.page import history_page
from evictd.render.history.parquet import write_parquet
from evictd.render.history.pods_meant import pods_meant, pods_of
from evictd.render.history.table import print_history
from evictd.render.incident.cause.kill_lines import last_kill_lines
from evictd.render.incident.record.journal_end import condition_ends
from evictd.render.output import TABLE, add_output_argument, write_document
from evictd.render.text import clean

HTML, PARQUET = "html", "parquet"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_journal_argument(parser)
    add_journal_options(parser)
    parser.add_argument("--pod", metavar="NAMESPACE/POD", default="", help="only the events of this pod")
    add_since_argument(parser)
    parser.add_argument(
        "--compare-kubelet",
        action="store_true",
        help="the pods that the kubelet of this node evicted beside those that evictd chose, in a dry run too",
    )
    parser.add_argument("--all", action="store_true", help="list also what repeats the events before it, in the table")
    add_output_argument(parser, HTML, PARQUET)


def run(args: argparse.Namespace) -> ExitCode:
    """Read the journal and show its events."""
    records = read_journals(journals_of(args), decode_record)
    events = every = list(history(records))
    if args.compare_kubelet:
        return _compare(args, events)
    spans = condition_spans(events)
    if args.pod:
        pod = clean(args.pod)
        events = [event for event in events if event.pod == pod]
        if not events:
            meant = pods_meant(pod, pods_of(records) - {pod})
            sys.stderr.write(f"evictd: the journal has no event of {pod}{f'; {meant}' if meant else ''}\n")
    if args.since is not None:
        begin = begin_of(every, args.since)
        events = [event for event in events if parse_time(event.at) >= begin]
    if args.output == PARQUET:
        if sys.stdout.isatty():
            raise InputError("--output parquet: is not for a terminal; redirect it to a file")
        write_parquet(events, sys.stdout.buffer)
    elif args.output == HTML:
        sys.stdout.write(history_page(events, spans))
    elif args.output == TABLE:
        killed = any(event.kind is EventKind.KERNEL for event in events)
        notes = last_kill_lines(records) if killed else ()
        ends = condition_ends(records[-1]) if records else {}
        print_history(events, spans, make_console(sys.stdout), everything=args.all, notes=notes, ends=ends)
    else:
        write_document(history_document(events, spans), args.output, sys.stdout)
    return ExitCode.DONE


def _compare(args: argparse.Namespace, events: list[HistoryEvent]) -> ExitCode:
    """Show the kubelet's evictions beside evictd's."""
    if args.output in (HTML, PARQUET):
        raise InputError(f"--output {args.output}: --compare-kubelet is a table, json or yaml")
    rows = compare_with_kubelet(events)
    if args.pod:
        rows = tuple(row for row in rows if row.pod == clean(args.pod))
    if args.since is not None:
        begin = begin_of(events, args.since)
        rows = tuple(row for row in rows if parse_time(row.at) >= begin)
    if args.output == TABLE:
        print_kubelet_comparison(rows, make_console(sys.stdout))
    else:
        write_document(kubelet_comparison_document(rows), args.output, sys.stdout)
    return ExitCode.DONE

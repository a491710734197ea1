"""`evictd why NAMESPACE/POD`: shows what happened to a pod, or why it stays, and what would have to change.

Reads the journal of this node's daemon and asks the running daemon for the order of eviction. Either alone is enough. The exit
status is 1 if nothing is known of the pod.
"""

import argparse
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from evictd.clock import wall_clock
from evictd.codec.records.journal_record import JournalRecord, decode_record
from evictd.commands.decided.incident_decided import read_incident
from evictd.commands.decided.last_place import last_place
from evictd.commands.incident import LAST
from evictd.commands.inputs.journals import (
    add_journal_options,
    add_journals_beside,
    journals_of,
    named_behind_journals,
    named_beside_journals,
    read_journals,
)
from evictd.commands.status import DEFAULT_ADDRESS, fetch, understood
from evictd.config.file import STANDARD_INPUT
from evictd.core.model.signal import SIGNALS, signal_named
from evictd.errors import ExitCode, InputError, NodeError
from evictd.render.console import make_console, print_line
from evictd.render.history.blindness import without_ended_blindness
from evictd.render.history.document import history_document, why_document
from evictd.render.history.evictions import evictions_of
from evictd.render.history.history import EventKind, HistoryEvent, history
from evictd.render.history.pod.all_refused import all_refused
from evictd.render.history.pod.places import places_then, unrecorded_place
from evictd.render.history.pod.why import OwnIncident, PodWhy, why_lines
from evictd.render.history.pod.why_cause import cause_lines
from evictd.render.history.pods_meant import pods_meant, pods_of
from evictd.render.incident.cause.kill_cause import kill_cause
from evictd.render.incident.cause.kill_lines import kill_facts, kill_lines, kill_remedies, threshold_remedies
from evictd.render.incident.heading import avoidance_lines
from evictd.render.incident.record.incident import Incident
from evictd.render.incident.remedy.now import left_to_do, now_of_growing, now_text
from evictd.render.incident.remedy.read_now import read_now
from evictd.render.incident.summary import summary_text
from evictd.render.output import TABLE, add_output_argument, write_document
from evictd.render.status.older_daemon import completed
from evictd.render.text import clean


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("pod", nargs="?", metavar="NAMESPACE/POD", help="the pod")
    add_journals_beside(parser)
    add_journal_options(parser)
    parser.add_argument(
        "--address",
        help=f"where the daemon listens (its listenAddress; default {DEFAULT_ADDRESS}, and none beside --journal)",
    )
    add_output_argument(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """Read the journal, ask the daemon and show both answers."""
    args.pod = named_beside_journals(args, args.pod, "NAMESPACE/POD") or named_behind_journals(args)
    if args.pod is None:
        raise InputError("which pod? give NAMESPACE/POD")
    if len(parts := args.pod.split("/")) != 2 or not all(parts):
        raise InputError(f"{args.pod}: is no pod; give NAMESPACE/POD{_meant(args)}")
    why = _ask(args)
    with understood(args.address or DEFAULT_ADDRESS):
        _show(why, args.output)
        return ExitCode.DONE if why.answered else ExitCode.NO


def _meant(args: argparse.Namespace) -> str:
    """Return the question that names the pods of the journal that were meant by a name without a namespace."""
    try:
        records, _ = _records(args)
    except (OSError, InputError):
        return ""
    if any(event.uid.startswith(args.pod) for event in evictions_of(records or ())):
        return f"; `evictd incident {args.pod}` shows that eviction"
    meant = pods_meant(args.pod, pods_of(records or ()))
    return f"; {meant}" if meant else ""


def _show(why: PodWhy, form: str) -> None:
    if form == TABLE:
        console = make_console(sys.stdout)
        console.print(why.pod, style="bold")
        for line in why_lines(why):
            text = line.lstrip()
            print_line(console, "  " + " " * (len(line) - len(text)), text)
    else:
        events = history_document(why.events, ())["events"]
        write_document(why_document(why, events), form, sys.stdout)


def _ask(args: argparse.Namespace) -> PodWhy:
    """Ask both, a journal that is named alone; raises the daemon's error if there is no journal either."""
    asked = bool(args.address or not args.journal)
    answers = _answers(args) if asked else None
    status = answers[1] if isinstance(answers, tuple) else None
    records, unreadable = _records(args) if status is None else _records_of(args, status)
    if isinstance(answers, NodeError) and records is None:
        journal = f"{unreadable}; " if unreadable else ""
        end = "" if str(answers).endswith("?") else ";"
        raise NodeError(f"{answers}{end} {journal}--journal reads the files of a node that is away") from answers
    known = replace(_of_journal(args, records or (), status), asked=asked, journal_read=records is not None)
    if not isinstance(answers, tuple):
        if known.placed or known.pod not in known.pods:
            return known
        last = last_place(journals_of(args), known.pod, wall_clock())
        return replace(known, last_place=last.lines, last_places=last.places)
    with understood(args.address or DEFAULT_ADDRESS):
        return replace(known, explained=answers[0], status=completed(answers[1]), unreadable=unreadable)


def _of_journal(args: argparse.Namespace, records: Sequence[JournalRecord], status: Mapping[str, Any] | None) -> PodWhy:
    """Return what the records of a journal say of the pod; of the node's state now a daemon's `status`, where it answers."""
    pod, events = clean(args.pod), tuple(history(records))
    evicted = tuple(event for event in events if event.kind is EventKind.EVICTED)
    lasting = without_ended_blindness(events)
    no_action = next((event for event in reversed(lasting) if event.kind is EventKind.NO_ACTION), None)
    killed = kill_cause(records, pod)
    own = any(event.pod == pod for event in evicted)
    found = _incident(args, pod if own else LAST) if evicted else None
    if found is not None and status is not None:
        with understood(args.address or DEFAULT_ADDRESS):
            found = read_now(found, completed(status))
    other = None if own else found
    return PodWhy(
        pod=pod,
        events=tuple(event for event in events if event.pod == pod),
        evicted=evicted,
        passed=places_then(records, pod, {(each.at, each.uid) for each in evicted}),
        causes=(*cause_lines(records, pod), *kill_facts(killed, pod)),
        kill_remedies=tuple(kill_remedies(killed, pod)),
        higher_threshold=tuple(threshold_remedies(killed, pod)),
        kills=tuple(kill_lines(kill_cause(records))),
        unrecorded=unrecorded_place(records, pod),
        pods=pods_of(records),
        incident=_heading(found) if own and found is not None else OwnIncident(),
        growing="" if other is None else now_of_growing(other, pod),
        no_action=no_action,
        refused=all_refused(events),
        superseded=is_superseded(lasting),
        left_to_do="" if other is None else _left_to_do(other, no_action),
        journal=clean(shlex.join(map(str, args.journal))),
    )


def _answers(args: argparse.Namespace) -> tuple[Mapping[str, Any], Mapping[str, Any]] | NodeError:
    """Return the daemon's order of eviction and its status, or why it does not answer."""
    address = args.address or DEFAULT_ADDRESS
    try:
        return fetch(address, "/explainz"), fetch(address)
    except NodeError as error:
        return error


def _records_of(args: argparse.Namespace, status: Mapping[str, Any]) -> tuple[list[JournalRecord] | None, str]:
    """Read the journal of the daemon that answered; none of another node, which is an `InputError` where it was named."""
    named = bool(args.journal or args.directory)
    if not named and args.address not in {None, DEFAULT_ADDRESS}:
        try:
            args.directory = Path(fetch(args.address, "/configz")["stateDirectory"])
        except (NodeError, LookupError, TypeError):
            return None, ""
    records, unreadable = _records(args)
    names = (each.observation.node_name for each in reversed(records or ()))
    node, here = next(filter(None, names), ""), status.get("node")
    if not node or not here or node == here:
        return records, unreadable
    if named:
        raise InputError(
            f"the journal is of node {clean(node)}, the evictd that answers of {clean(here)}; "
            f"{clean(shlex.join(['--journal', *map(str, args.journal or [args.directory])]))} without --address "
            "reads only the journal"
        )
    return None, ""


def _incident(args: argparse.Namespace, wanted: str) -> Incident | None:
    """Return the incident that is meant; `None` of standard input, which is read once."""
    paths = journals_of(args)
    return None if STANDARD_INPUT in paths else read_incident(paths, wanted, report=lambda _: None)


def _heading(found: Incident) -> OwnIncident:
    return OwnIncident(short=summary_text(found), now=now_text(found), avoidance=tuple(avoidance_lines(found)))


def is_superseded(events: Sequence[HistoryEvent]) -> bool:
    """Whether after the last reason for which no pod was evicted one was chosen, or the node's condition began again."""
    begun = set[str]()
    for event in reversed(events):
        if event.kind is EventKind.NO_ACTION:
            signal = signal_named(event.signal)
            return signal is not None and SIGNALS[signal].condition.value in begun
        if event.kind in {EventKind.EVICTED, EventKind.REQUESTED}:
            return True
        begun.update(event.begun)
    return False


def _left_to_do(found: Incident, no_action: HistoryEvent | None) -> str:
    """Return what is left to do by the incident; empty where the reason for no eviction is of another signal."""
    alike = no_action is None or found.signal is None or no_action.signal in {"", found.signal.value}
    return left_to_do(found) if alike else ""


def _records(args: argparse.Namespace) -> tuple[list[JournalRecord] | None, str]:
    """Read the journal; `None` if there is none and none was named, with the reason if this user may not read it."""
    try:
        return read_journals(journals_of(args), decode_record), ""
    except (PermissionError, InputError) as error:
        if args.journal:
            raise
        reason = error if isinstance(error, PermissionError) else error.__cause__
        return None, f"{reason.filename}: {reason.strerror}" if isinstance(reason, PermissionError) else ""

"""The page at `/`: the node's state in HTML, from the documents of `/statusz` and `/explainz` and an hour of each signal.

The template (`node_page_files/page.html`) escapes every value: names of pods and messages are not to be trusted. Nothing
on the page comes from another host, and scripts and styles are files of this server, so the content security policy allows no
inline code. jinja2 is imported when the page is first asked for: a daemon whose page is not read does not pay for it.
"""

import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evictd.codec.times import parse_time, rfc3339
from evictd.core.model.state import PhaseName
from evictd.core.units.duration import SECOND
from evictd.errors import SourceKind
from evictd.render.status.headline import (
    NO_RATE_YET,
    Headline,
    OwnFault,
    after_eviction,
    beside_faults,
    headline,
    look_back,
)
from evictd.render.status.holders import filled, growers, held_by
from evictd.render.status.kernel_killed import kernel_killed_text
from evictd.render.status.last_action import last_eviction, last_eviction_text
from evictd.render.status.leaving_pods import refused
from evictd.render.status.own_faults import OwnFaultKind, tests_thresholds
from evictd.render.status.page.page_decisions import folded_decisions, page_decisions
from evictd.render.status.page.page_leaving import about_leaving, leaving_rows
from evictd.render.status.page.page_next import next_lines
from evictd.render.status.page.page_notes import folded_notes
from evictd.render.status.page.page_order import queue_view
from evictd.render.status.page.signal_card import Trend, one_entry, signal_card
from evictd.render.status.page_chart import eviction_marks
from evictd.render.status.remedy.remedies import to_do
from evictd.render.status.signal_entry import by_disk, is_due, shown_entries
from evictd.render.status.stopped import name_last, stop_text
from evictd.render.status.times.depletion import Depletion, depletions, without_repeated
from evictd.render.status.times.nearest import nearest
from evictd.render.status.times.timing import approaches, as_before, graces
from evictd.render.status.times.unread_since import last_read_texts, unread
from evictd.render.status.unguarded import unguarded_entry, unguarded_text
from evictd.render.text import (
    capital,
    clean,
    counted,
    pods_text,
    seconds_text,
)

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup

Document = Mapping[str, Any]

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
_FOLDER = Path(__file__).parent / "node_page_files"
_COMMAND = re.compile("`([^`]+)`")
_OLD_SECONDS = 60
"""Age of a reading, in seconds, from which it is said beside the numbers: a calm node is read every ten seconds."""


def asset(name: str) -> bytes:
    """Return a file of the page: `page.css` or `page.js`."""
    return (_FOLDER / name).read_bytes()


def node_page(
    status: Document, explained: Document, trends: Mapping[str, Trend], *, faults: Sequence[OwnFault]
) -> bytes:
    """Make the page; `faults` are what `/healthz` and `/readyz` name."""
    tested = tests_thresholds(each.kind for each in faults)
    falls = depletions(status) if tested else {}
    now = parse_time(status["at"]) + round(status["ageSeconds"] * SECOND)
    cards = _cards(status, trends, falls, now)
    context = {
        "status": status,
        "headline": (head := headline(status, faults, falls)),
        "access": _access(status["node"]),
        "first": (first := _first(status, head, falls, faults)),
        "lines": (
            *(beside := tuple(_beside(status, faults, head))),
            *(next_lines(status, explained, head, faults) if tested else ()),
        ),
        "users": (users := tuple(chain(growers(status), held_by(status, explained))) if tested else ()),
        "to_do": to_do({**status, "faults": [each.kind.value for each in faults]})
        or look_back(status)
        or about_leaving(status),
        "signals": (pressed := [each for each in cards if each["level"] != "calm"]) or cards,
        "others": [each for each in cards if each not in pressed] if pressed else (),
        "unread": (without := unread(status)),
        "causes": causes(status, without),
        "last_read": last_read_texts(status),
        "unseen": (unseen := any(fault.kind is OwnFaultKind.NODE for fault in faults)),
        "reported": _reported(status["problems"]) if unseen else "",
        "stale": not tested,
        "listed": (listed := _listed(faults)),
        "pods": f"{counted(status['pods'], 'pod')} {listed}" if listed else pods_text(status),
        "absent": [entry["signal"] for entry in shown_entries(status) if entry.get("absent")],
        "conditions": [_condition(entry, dry_run=status["dryRun"], tested=tested) for entry in status["conditions"]],
        "phase": "" if _awaits_end(status) or status["asked"] else _phase(status["phase"]),
        "read": _time(status["at"]),
        "clock": rfc3339(now)[11:19],
        "old": status["ageSeconds"] >= _OLD_SECONDS,
        "leaving": (leaving := leaving_rows(status, falls, seen=tested)),
        "nothing": folded_notes(nothing := tuple(why_nothing(status, explained, head)), status),
        "queues": sorted(
            (
                queue_view(each, (*first, *beside, *users), nothing, far=_is_far(each, cards), status=status)
                for each in (() if status["pods"] is None else explained["queues"])
            ),
            key=itemgetter("unmeasured"),
        ),
        "decisions": folded_decisions(page_decisions(status, {*first, *beside, *(row["why"] for row in leaving)})),
        "notes": folded_notes([note for note in explained["notes"] if not _is_said(note, nothing)], status),
        "faults": (faulty := [fault.detail for fault in faults]),
        "problems": [each for each in status["problems"] if each["detail"] not in faulty],
    }
    return page_template("page.html").render(context).encode("utf-8", errors="replace")


def _cards(status: Document, trends: Mapping[str, Trend], falls: Collection[str], now: int) -> list[dict[str, Any]]:
    """Return a card for each signal that is read, one for those of one disk, and for memory without a threshold."""
    marks, unguarded = eviction_marks(status), filter(None, (unguarded_entry(status),))
    near = {each.entry["signal"] for each in (*approaches(status), *as_before(status))}
    observed = [each for each in (*unguarded, *shown_entries(status)) if each["observed"]]
    return [
        signal_card(
            entry,
            trends.get(entry["signal"], ()),
            [mark for name in entry["signals"] for mark in marks.get(name, ())],
            near=not near.isdisjoint(entry["signals"]) or not entry["thresholds"],
            rate_is_said=any(name in falls for name in entry["signals"]),
            now=now,
        )
        for entry in map(one_entry, by_disk(observed))
    ]


@cache
def page_template(name: str) -> "Template":
    """Load a template of `node_page_files`; it escapes every value."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415 - only a page that is read needs it

    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["clean"] = clean
    environment.filters["commands"] = _with_commands
    environment.filters["seconds"] = seconds_text
    environment.filters["name_last"] = name_last
    return environment.get_template(name)


def _with_commands(text: str) -> "Markup":
    """Escape a text, and mark as code what stands between backticks."""
    from markupsafe import Markup, escape  # noqa: PLC0415 - jinja2's

    return Markup(_COMMAND.sub(r"<code>\1</code>", str(escape(clean(text)))))  # noqa: S704 - the text is escaped


def _is_far(queue: Document, cards: Sequence[Document]) -> bool:
    """Whether a threshold is met or near, and none of this queue's signals: few then look at its pods."""
    pressed = {name for each in cards if each["level"] != "calm" for name in each["signals"]}
    return bool(pressed) and pressed.isdisjoint(queue["signals"])


# --- beside the headline ----------------------------------------------------------------------------------------------


def _first(
    status: Document, head: Headline, falls: Mapping[str, Depletion], faults: Sequence[OwnFault]
) -> tuple[str, ...]:
    """Return what stands above what a person can do: it says how long there is time for that."""
    soonest = without_repeated(falls)
    lines = (
        each.then if each.then and each.reaches(name) in head.text else each.text for name, each in soonest.items()
    )
    over = after_eviction(status) if tests_thresholds(each.kind for each in faults) else ()
    return (*(f"{text}." for text in lines if text not in head.text), *beside_faults(status, faults), *over)


def _beside(status: Document, faults: Sequence[OwnFault], head: Headline) -> Iterator[str]:
    """Yield the nearest threshold of a calm node, the last eviction, and who filled what is short."""
    if tests_thresholds(each.kind for each in faults):
        of_node = headline(status) if faults else head
        if of_node.level == "calm" or NO_RATE_YET in of_node.text:
            yield from filter(None, (nearest(status),))
        last = None if head.level == "hard" else last_eviction(status)
        if last is not None and (text := last_eviction_text(status, last)) not in head.text:
            yield f"{text}."
        if (killed := capital(kernel_killed_text(status))) and killed not in head.text:
            yield f"{killed}."
        if (unguarded := unguarded_text(status)) and unguarded not in head.text:
            yield f"{capital(unguarded)}."
        yield from filled(status)


def _access(node: str) -> tuple[str, ...]:
    """Return the commands that find evictd's pod on this node, and that run its commands in it."""
    name = shlex.quote(clean(node)) if node else "NODE"
    fields = f"--field-selector spec.nodeName={name},status.phase=Running"
    find = f"kubectl -n evictd get pods -l app.kubernetes.io/name=evictd {fields} -o name"
    commands = ("status", "incident last --output html > incident.html")
    return (f"POD=$({find})", *(f"kubectl -n evictd exec $POD -c evictd -- evictd {each}" for each in commands))


def _listed(faults: Sequence[OwnFault]) -> str:
    """Return which list of pods is ranked, where the runtime gives no new one."""
    fault = next((each for each in faults if each.kind is OwnFaultKind.LISTED_PODS), None)
    if fault is None:
        return ""
    return f"as the runtime listed them {f'before {fault.since[11:19]} UTC' if fault.since else 'last'}"


_SOURCES = {
    "memory": (SourceKind.MEMORY_OF_THE_NODE,),
    "swap": (SourceKind.MEMORY_OF_THE_NODE,),
    "allocatableMemory": (SourceKind.MEMORY_OF_THE_PODS_CGROUP,),
    "pid": (SourceKind.PIDS,),
    "nodefs": (SourceKind.NODEFS, SourceKind.CONTAINER_RUNTIME),
    "imagefs": (SourceKind.IMAGEFS, SourceKind.CONTAINER_RUNTIME),
    "containerfs": (SourceKind.CONTAINERFS, SourceKind.CONTAINER_RUNTIME),
}
"""The sources of the problems that leave a signal without a reading, by the begin of its name: the runtime names the disks."""


def causes(status: Document, signals: Sequence[str]) -> str:
    """Return the problems of the sources of these signals, as one text; empty if none is known."""
    sources = {source.value for each in signals for source in _SOURCES.get(each.partition(".")[0], ())}
    return _reported([each for each in status["problems"] if each["source"] in sources])


def _reported(problems: Sequence[Document]) -> str:
    return "; ".join(f"{each['source']}: {each['detail']}" for each in problems)


def why_nothing(status: Document, explained: Document, head: Headline) -> Iterator[str]:
    """Yield why no pod is being evicted though a threshold is met, unless the headline says so."""
    if any(not row["gone"] for row in status["leaving"]) and not refused(status):
        return
    met = [entry for entry in status["signals"] if any(threshold["met"] for threshold in entry["thresholds"])]
    due = [] if status["phase"]["name"] == PhaseName.RECLAIMING.value else [entry for entry in met if is_due(entry)]
    stops: dict[str, list[Document]] = {}
    asked = {row["signal"] for row in status["asked"]}  # of their signals not every pod is skipped
    for entry in due:
        if entry["stop"] and not (entry["stopReason"] == _HELD_BACK and entry["signal"] in asked):
            stops.setdefault(entry["stop"], []).append(entry)
    of_stops = [note.partition(": ") for note in explained["notes"]]
    names = {
        stop: ", ".join(
            dict.fromkeys((*(each["signal"] for each in entries), *(s for s, _, text in of_stops if text == stop)))
        )
        for stop, entries in stops.items()
    }
    if status["dryRun"] and due:
        yield "evictd is in a dry run and evicts no pod; a kubelet on this node still acts at its own thresholds"
    yield from (f"{names[stop]}: {stop_text(status, entries[0])}" for stop, entries in stops.items())
    yield from (each.text for each in graces(status) if each.text not in head.text)
    if met:
        yield from (note for note in explained["notes"] if note.partition(": ")[2] not in stops)


def _is_said(note: str, nothing: Sequence[str]) -> bool:
    """Whether a note stands among the reasons for no eviction, maybe for more signals, or with what follows in other words."""
    text = (note.partition(": ")[2] or note).partition("; ")[0]
    return any(line == note or f": {text}" in line for line in nothing)


_HELD_BACK = "HeldBack"
"""The reason for no eviction while each pod that may go is skipped."""
_PHASES = {"Reclaiming": "removes what no pod needs", "CleaningUp": "waits for an evicted pod to end"}
"""What evictd does in each phase but `Watching`."""


def _phase(phase: Document) -> str:
    """Write what evictd does, and for how long at most where that is known."""
    text = _PHASES.get(phase["name"], "")
    left = phase.get("endsInSeconds", 0)
    return f"{text}, {seconds_text(left)} at most" if text and left > 0 else text


def _awaits_end(status: Document) -> bool:
    """Whether evictd waits for the end of a pod, and not for a collection: the time stands beside that pod."""
    phase = status["phase"]
    leaves = any(not row["gone"] for row in status["leaving"])
    return leaves and phase["name"] == PhaseName.CLEANING_UP.value and "filesystem" not in phase


# --- conditions ---------------------------------------------------------------------------------------------------


def _condition(entry: Document, *, dry_run: bool, tested: bool) -> dict[str, Any]:
    """Return a condition as it is reported, or would be without a dry run; `tested`: thresholds are tested at present."""
    true = entry["status"] == "True"
    parts = []
    if true:
        begun = f"since {_time(entry['since'])}" if entry["since"] else "since before evictd started"
        parts.append(f"would be reported {begun}" if dry_run else begun)
        if entry["staysSeconds"] is not None and tested:
            stays = "would stay" if dry_run else "stays"
            parts.append(f"{stays} at least {seconds_text(entry['staysSeconds'])} more")
        if entry["why"]:
            parts.append(entry["why"])
    elif entry["until"]:
        begun = f"{_time(entry['since'])} to " if entry["since"] else "until "
        parts.append(f"{'last met' if dry_run else 'last reported'} {begun}{_time(entry['until'])}")
    value = "" if true and dry_run else entry["status"] if tested else f"{entry['status']}, as tested last"
    return {
        "type": entry["type"],
        "value": value,
        "style": "would" if true and dry_run else "reported" if true else "",
        "text": "; ".join(parts),
    }


def _time(text: str) -> str:
    return text.replace("T", " ").replace("Z", " UTC")

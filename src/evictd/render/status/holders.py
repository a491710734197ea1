"""Says for the page who fills and who holds what is short or will be soon, from the documents of `/statusz` and `/explainz`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

from evictd.core.model.amount_text import noun_of
from evictd.core.model.signal import SIGNALS, Resource, Signal
from evictd.render.little_growth import is_little_growth
from evictd.render.status.last_action import last_eviction
from evictd.render.status.signal_entry import is_pressed, missing, shown_entries
from evictd.render.status.times.depletion import FORESEEN_SECONDS
from evictd.render.status.times.timing import approaches
from evictd.render.text import capital, gap_text, seconds_text, usage_text

Document = Mapping[str, Any]

_MOST = 2
_LITTLE_PART = 50
"""What grew outside pods, or in pods that are not named, is left out if it is less than this part of what pods grew by."""


def filled(status: Document) -> list[str]:
    """Return who took what is short, or who holds it where little grew; the signals of one supply share a sentence."""
    clauses = (filled_clause(*each) for each in short_of(status) if len(each[1]["text"]) > 1)
    return list(dict.fromkeys(f"{capital(clause)}." for clause in clauses))


def short_of(status: Document) -> list[tuple[Document, Document]]:
    """Return the signals that are short, each with who holds it, as far as that is known."""
    short = (entry for entry in status["signals"] if entry["observed"] and any(map(is_pressed, entry["thresholds"])))
    return [(entry, held) for entry in short if (held := entry["attribution"])]


def filled_clause(entry: Document, held: Document) -> str:
    """Return what grew, or who holds it where that is little beside what is missing."""
    kinds = ("evictable", "protected", "leaving", "unmeasured", "elsewhere")
    grown = sum(max(held[kind]["grown"], 0) for kind in kinds if kind in held)
    return str(held["text"][-1 if is_little_growth(grown, missing(entry)) else 0])


def growers(status: Document) -> Iterable[str]:
    """Return who takes what will be short soon, as far as that is known; the signals of one supply share a sentence."""
    return dict.fromkeys(_growers(status))


def _falling(status: Document) -> list[Document]:
    """Return the signals that will be short soon; after an eviction also those that fall on, or whose rate is not known yet."""
    if last_eviction(status) is None:
        return [each.entry for each in approaches(status)]
    rest = (
        each for each in shown_entries(status) if each.get("growing") and not any(map(is_pressed, each["thresholds"]))
    )
    later = (each.entry for each in approaches(status, FORESEEN_SECONDS))
    return [*later, *(each for each in rest if each["fillRate"] is None)]


def _growers(status: Document) -> Iterator[str]:
    near = {each.entry["signal"] for each in approaches(status)}
    for entry in _falling(status):
        signal = Signal(entry["signal"])
        if beyond := entry["beyondPods"]:
            taken, of_pods = growth_amount(beyond["taken"], signal), growth_amount(beyond["ofPods"], signal)
            over = seconds_text(beyond["overSeconds"])
            rest = f"most of that belongs to no pod{_volumes(entry, 'lies')}"
            yield f"In the last {over} {taken} were taken, and all pods hold {of_pods}: {rest}."
        if not (growing := entry["growing"]):
            continue
        elsewhere = growing["elsewhere"]
        pods = took_since_start(growing, signal) or _grew(growing, signal)
        is_little = elsewhere is None or (pods and elsewhere * _LITTLE_PART < growing["ofPods"])
        more = "" if is_little else _elsewhere(entry, elsewhere, signal, alone=not pods)
        rest = f"{more} more belong to no pod{_volumes(entry, 'lie')}" if more else ""
        if pods or rest:
            over = seconds_text(growing["overSeconds"])
            before = growing["measuredSecondsBefore"]
            time = (
                f"in {over}, up to {seconds_text(before)} before the last reading," if before else f"in the last {over}"
            )
            text = f"{time} {'; '.join(filter(None, (pods or 'no pod grew', rest)))}."
            yield f"{entry['signal']}: {text}" if near and entry["signal"] not in near else capital(text)


def _elsewhere(entry: Document, grown: int, signal: Signal, *, alone: bool) -> str:
    """Write what grew outside pods: of a shorter time than that of the stated rate as a rate too, where no pod grew."""
    over = entry["growing"]["overSeconds"]
    if not alone or grown <= 0 or not 0 < over < (entry.get("overSeconds") or 0):
        return growth_amount(max(grown, 0), signal)
    return f"{growth_amount(round(grown / over), signal)} a second"


def _grew(growing: Document, signal: Signal) -> str:
    """Write by how much pods grew, with the sum where it is more than that of the named ones; empty where none grew."""
    named = [(each["pod"], each["grown"]) for each in growing["pods"]]
    others = growing["ofPods"] - sum(grown for _, grown in named)
    if not named or others * _LITTLE_PART <= growing["ofPods"]:
        return ", ".join(f"{pod} grew by {growth_amount(grown, signal)}" for pod, grown in named)
    each_by = ", ".join(f"{pod} by {growth_amount(grown, signal)}" for pod, grown in (*named, ("others", others)))
    return f"pods grew by {growth_amount(growing['ofPods'], signal)}: {each_by}"


def _volumes(entry: Document, lie: str) -> str:
    """Write where else than outside pods what no pod was seen to take may lie: hostPath volumes are not measured."""
    return f" or {lie} in hostPath volumes" if entry["hostPathPods"] else ""


def took_since_start(growing: Document, signal: Signal) -> str:
    """Return that pods started in the span and took most of what pods took, none of them alone; empty where that is not so."""
    new = growing["arrived"]
    if not new or new["pods"] <= 1:
        return ""
    half = growing["ofPods"] // 2
    if new["grown"] <= half or growing["pods"][0]["grown"] > half:
        return ""
    return f"{new['pods']} pods started and took {growth_amount(new['grown'], signal)}"


def growth_amount(amount: int, signal: Signal) -> str:
    """Write by how much something grew, with what it counts: `30Mi`, `12 processes`."""
    return f"{gap_text(amount, signal)}{noun_of(amount, SIGNALS[signal].resource)}"


def held_by(status: Document, explained: Document) -> Iterator[str]:
    """Yield who holds what will be short soon, and the largest pods with their places in the order of eviction."""
    for approach in approaches(status):
        signal, held = approach.entry["signal"], approach.entry["attribution"]
        if not held or held["overNanoseconds"] is not None or not held["text"]:
            continue
        yield f"{capital(held['text'][-1])}."
        rows = [row for queue in explained["queues"] if signal in queue["signals"] for row in queue["rows"]]
        measured = [pair for pair in zip(row_numbers(rows), rows, strict=True) if pair[1]["usage"]]
        largest = sorted(measured, key=lambda pair: pair[1]["usage"], reverse=True)[:_MOST]
        if pods := ", ".join(_large(number, row, SIGNALS[Signal(signal)].resource) for number, row in largest):
            yield f"Largest pods, with their places in the order of eviction: {pods}."


def _large(number: int, row: Document, resource: Resource) -> str:
    """Write a pod with what it uses and its place in the order of eviction, or why it has none."""
    priority = f", priority {row['priority']}" if row["priority"] else ""
    place = f"never evicted: {row['protected']}" if row["protected"] else f"place {number}{priority}"
    used = ", ".join(filter(None, (usage_text(row["usage"], resource), measured_before(row), place)))
    return f"{full_name(row)} ({used})"


def measured_before(row: Document) -> str:
    """Write how old a usage is that the last reading did not have; empty for a present one."""
    age = row.get("usageAgeSeconds")
    return f"measured {seconds_text(age)} before" if age else ""


def full_name(row: Document) -> str:
    """Return `namespace/name` of a row."""
    return f"{row['namespace']}/{row['name']}"


def row_numbers(rows: Sequence[Document]) -> Iterator[int]:
    """Count the rows of the pods that may be evicted."""
    return accumulate(int(not row["protected"]) for row in rows)

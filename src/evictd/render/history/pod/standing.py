"""Says for `evictd why` where an active pod stands in each order of eviction, and what would have to change before it goes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from evictd.core.frozen import frozen
from evictd.core.model.finding import NoActionReason, SkipReason
from evictd.core.model.signal import DISKS, WITH_REQUEST, Resource, Signal
from evictd.core.model.state import PhaseName
from evictd.render.deciding import PASSED_OVER
from evictd.render.status.leaving_pods import decides_once_measured, only_if
from evictd.render.status.next_pod import before_text, goes_if_it_grows
from evictd.render.status.page.page_leaving import eviction_text, leaving_rows
from evictd.render.status.remedy.remedies import suspected_pods, to_do
from evictd.render.status.remedy_texts import host_path_remedy
from evictd.render.status.signal_entry import is_due, is_pressed, shown_entries
from evictd.render.status.stopped import goes_then, paused_until
from evictd.render.status.times.depletion import depletions
from evictd.render.status.times.timing import approaches, as_before, conditions, time_lines
from evictd.render.text import MEASURED_LATER, amount_text, clean, enough_text, first_of, gap_text, signal_amount

Plain = Mapping[str, Any]
_NAMED = 3


@frozen
class Place:
    """A pod's place in one order of eviction."""

    queue: Plain
    row: Plain
    index: int
    """Its row, counted from 0."""

    @property
    def number(self) -> int:
        """The place among the pods that may be evicted, counted from 1; 0 for one that never is."""
        return 0 if self.row["protected"] else len(_evictable(self.queue["rows"][: self.index])) + 1

    @property
    def pods(self) -> int:
        """The number of pods that may be evicted."""
        return len(_evictable(self.queue["rows"]))

    @property
    def before(self) -> tuple[Plain, ...]:
        """The pods before it that may be evicted, and are not passed over."""
        return tuple(row for row in _evictable(self.queue["rows"][: self.index]) if not row.get("passedOver"))

    @property
    def later(self) -> tuple[Plain, ...]:
        """The pods after it that may be evicted."""
        return _evictable(self.queue["rows"][self.index + 1 :])

    @property
    def pod(self) -> str:
        """The pod's `namespace/name`."""
        return f"{self.row['namespace']}/{self.row['name']}"

    @property
    def is_next(self) -> bool:
        """Whether it would be evicted first."""
        return bool(self.queue["next"] == self.pod)


def _evictable(rows: Iterable[Plain]) -> tuple[Plain, ...]:
    return tuple(row for row in rows if not row["protected"])


def place_in(queue: Plain, pod: str) -> Place | None:
    """Return the place of a pod, `namespace/name`, in one order of eviction; `None` where it is not in it."""
    for index, row in enumerate(queue["rows"]):
        if clean(f"{row['namespace']}/{row['name']}") == pod:
            return Place(queue=queue, row=row, index=index)
    return None


_TO_GO = {
    "static pod": "to have it end: change its manifest, or remove that from this node",
    "critical priority": "only a pod of a lower priority, which takes its place, may be evicted",
}
"""What would have to change before a pod goes that is never evicted."""


def guarded_lines(places: Sequence[Place], status: Plain) -> Iterator[str]:
    """Write why a pod is never evicted, and what follows where no other one is evicted because of it."""
    guard = clean(next(place.row["protected"] for place in places if place.row["protected"]))
    yield f"it stays: it is never evicted ({guard}), also over its own limit of local storage"
    yield from filter(None, (_TO_GO.get(guard),))
    stopped = [entry for entry in shown_entries(status) if entry["stopPod"] == places[0].pod and is_due(entry)]
    ends = depletions(status)
    for entry in stopped:
        yield f"{entry['signal']}: no pod is evicted: {clean(entry['stop'])}"
        if (end := ends.get(entry["signal"])) is not None and end.then:
            yield f"{end.reaches(entry['signal'])}. {end.then}"
    if stopped and (do := to_do(status)):
        yield f"now: {do}"


def standing_lines(places: Iterable[Place], status: Plain) -> Iterator[str]:
    """Write the place of an active pod in each order of eviction, and what would have to change before it goes."""
    entries = {entry["signal"]: entry for entry in status["signals"]}
    shown = {each["signal"]: each for each in shown_entries(status)}
    near = {each.entry["signal"] for each in (*approaches(status), *as_before(status))}
    near |= {name for name, entry in entries.items() if any(map(is_pressed, entry["thresholds"]))}
    every = tuple(places)
    told = [place for place in every if not near.isdisjoint(place.queue["signals"])] or every
    leaving, only = [_leaving(row) for row in leaving_rows(status, depletions(status))], only_if(status)
    for place in told:
        signals = ", ".join(place.queue["signals"])
        if _is_calm_disk(place, entries):
            yield f"{signals}: {MEASURED_LATER}; evictd explain measures now"
            continue
        yield f"{signals}: place {place.number} of {place.pods}{_why_there(place)}"
        if passed := place.row.get("passedOver"):
            yield f"  passed over: {clean(passed)}"
        if any(place.pod in suspected_pods(entry) for name in place.queue["signals"] if (entry := entries.get(name))):
            owners, resource = filter(None, (place.row.get("owner"),)), Resource(place.queue["resource"])
            yield f"  it may be the cause: {host_path_remedy([place.pod], resource, [*owners])}"
        own = shown if shown.keys() & {*place.queue["signals"]} else entries  # a derived signal repeats another one
        entries_here = [own[name] for name in place.queue["signals"] if name in own]
        instead = next(filter(None, map(goes_if_it_grows, entries_here)), "")
        before = next(filter(None, (before_text(status, each) for each in entries_here if each["next"])), "")
        if place.queue["stop"]:
            entry = entries.get(place.queue["signals"][0])
            until = "" if entry is None else paused_until(status, entry)
            then = "" if entry is None or not (goes := goes_then(entry)) else f"; {goes}"
            stop = clean(place.queue["stop"])
            yield f"  no pod would be evicted{until}: {stop}{then}{instead}"
        for line in (place.queue.get("attribution") or {"text": ()})["text"]:
            yield f"  {clean(line)}"
        short = any(is_due(each) for name in place.queue["signals"] if (each := entries.get(name)))
        yield from (f"  {text}" for text in leaving if short)
        if needed := BESIDES.join(filter(None, _needed(place, own, only if short else ""))):
            yield f"  to be evicted: {needed}{'' if place.queue['stop'] else instead + before}"
        if decides := next(filter(None, map(decides_once_measured, entries_here)), "") or _reclaims(
            place, status, short
        ):
            yield f"  {decides}"
        if later := _to_stay(place):
            yield f"  {later}"
    if far := [signal for place in every if place not in told for signal in place.queue["signals"]]:
        yield f"far from every threshold: {', '.join(far)}"
    if status["dryRun"]:
        yield "the daemon is in a dry run: it evicts no pod"
    yield from time_lines(status, acts=True)
    yield from conditions(status)


def _reclaims(place: Place, status: Plain, short: bool) -> str:
    """Write that evictd removes what no pod needs before a pod goes; empty where it does not do so now."""
    if (
        not short
        or status["phase"]["name"] != PhaseName.RECLAIMING.value
        or Resource(place.queue["resource"]) not in DISKS
    ):
        return ""
    return f"evictd {'would remove' if status['dryRun'] else 'removes'} what no pod needs first; that may be enough"


def _why_there(place: Place) -> str:
    """Return the reason for its place; of one that goes first though others rank before it, why they are passed over."""
    why = clean(place.row["why"])
    if not place.is_next or place.number == 1:
        return f"; {why}"
    return f", the first that may go; {clean(place.queue.get('nextWhy') or why)}"


_KEPT = "to stay: less usage; no request or priority helps, because no other pod would go instead now"
_KEPT_BY_USAGE = "to stay: less usage; a request or priority does not help while those before it free too little"


def _to_stay(place: Place) -> str:
    """Return what would keep the pod, or move it back in the order; empty where nothing is known to."""
    if _is_first_alone(place):
        return _KEPT
    if place.is_next and any(_frees_too_little(row) for row in place.queue["rows"][: place.index]):
        return _KEPT_BY_USAGE
    return "" if _stays_passed_over(place) else _to_move_back(place)


def _frees_too_little(row: Plain) -> bool:
    """Whether a pod is passed over because its end would free too little: the one that goes instead goes from any place."""
    return str(row.get("passedOver", "")).startswith(PASSED_OVER[SkipReason.UNNECESSARY])


def _is_first_alone(place: Place) -> bool:
    """Whether it goes first at any place of the order: those before it are passed over, and those after it use nothing."""
    return place.is_next and all(row["usage"] == 0 for row in place.later)


def _stays_passed_over(place: Place) -> bool:
    """Whether it is passed over at each place of the order: a budget refuses its eviction only for a time."""
    passed = place.row.get("passedOver")
    return bool(passed) and passed != PASSED_OVER[SkipReason.BUDGET]


def _is_calm_disk(place: Place, entries: Mapping[str, Plain]) -> bool:
    """Whether pods are not measured, because no threshold of the disk is near."""
    names, reason = place.queue["signals"], NoActionReason.NO_POD_MEASURED.value
    return Resource(place.queue["resource"]) in DISKS and all(
        entries.get(name, {}).get("stopReason") == reason for name in names
    )


def _needed(place: Place, entries: Mapping[str, Plain], only: str) -> Iterator[str]:
    """Yield what would have to happen before the pod is evicted; nothing where its turn comes when evictions go on."""
    short = [entry for name in place.queue["signals"] if (entry := entries.get(name)) and entry["observed"]]
    stopped = bool(place.queue["stop"]) and any(map(_is_met, short))
    yield only and f"only {only}"
    yield "" if stopped or only else " or ".join(map(_crossing, short)) or "its signal would have to be observed"
    before = [f"{row['namespace']}/{row['name']}" for row in place.before]
    if place.row.get("passedOver"):
        then = next((each["stopThen"] for each in short if each.get("stopThen")), None)
        before = [*filter(None, (place.queue["next"] or (then and then["pod"]),))]
    if before and not place.is_next:
        now = "by the order of now " if any(map(goes_if_it_grows, short)) else ""
        yield f"{now}{to_go_first(before)}"


BESIDES = "; besides, "
"""Stands between what would have to happen before a pod goes: after `A or B`, a mere `and` reads as belonging to B alone."""


def to_go_first(pods: Iterable[str], *, past: bool = False) -> str:
    """Write that the pods before another one, `namespace/name`, keep it, or kept it."""
    return f"{first_of([clean(name) for name in pods], _NAMED)} would have {'had ' if past else ''}to go first, or be skipped"


def _leaving(row: Plain) -> str:
    """Write of a pod that is being evicted for how long evictd waits for its end, and whether that is enough."""
    leaving = f"{eviction_text(row)}: {clean(row['pod'])}, {row['awaits']}."
    return " ".join(filter(None, (leaving, row["suffices"]))).removesuffix(".")


def _is_met(entry: Plain) -> bool:
    return any(threshold["met"] for threshold in entry["thresholds"])


def _crossing(entry: Plain) -> str:
    """Return how far a signal is from its nearest threshold."""
    signal = Signal(entry["signal"])
    limits = sorted((threshold["limit"], threshold["kind"]) for threshold in entry["thresholds"])
    if not limits:
        return f"{entry['signal']} has no threshold"
    if met := [each for each in limits if entry["available"] < each[0]]:
        limit, kind = next((each for each in met if each[1] == "hard"), met[-1])
    else:
        limit, kind = limits[-1]
    return crossing_text(signal, kind, limit, entry["available"])


def crossing_text(signal: Signal, kind: str, limit: int, available: int, *, past: bool = False) -> str:
    """Write how far a signal is, or was, above a `hard` or `soft` threshold, or that it is below."""
    threshold = f"its {kind} threshold {signal_amount(limit, signal)}"
    if available < limit:
        return f"{signal.value} {'was' if past else 'is'} already below {threshold}"
    return f"{signal.value} would have {'had ' if past else ''}to fall by {gap_text(available - limit, signal)} to {threshold}"


def _to_move_back(place: Place) -> str:
    """Return which change of the pod would put it later in the order; empty for the last, or of which no usage is known."""
    row, resource = place.row, Resource(place.queue["resource"])
    if not row["usage"] or not place.later:
        return ""
    nearest = next((each for each in place.later if each["exceedsRequest"] == row["exceedsRequest"]), None)
    priority = f"a priority above {max(row['priority'], nearest['priority'])}" if nearest is not None else ""
    if resource in WITH_REQUEST and row["usage"] > row["request"]:
        requests = amount_text(row["request"], resource) if row["request"] else "none"
        request = f"request at least {enough_text(row['usage'], resource)} of {resource.value} (it requests {requests})"
        return f"to move back in the order: {', or '.join(filter(None, (request, priority)))}"
    fewer = "fewer processes" if resource is Resource.PIDS else "less usage"
    return f"to move back in the order: {priority}, or {fewer}" if priority else ""

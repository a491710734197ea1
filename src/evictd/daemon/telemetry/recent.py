"""Remembers the last decisions as text, for `evictd status` and the page.

An eviction that the API server refused is no eviction: its line gives way to one that says who refused it, how often and since
when.
"""

import re
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from evictd.codec.times import rfc3339
from evictd.core.eviction.refusals.backoff import Refusal, owner_of
from evictd.core.frozen import frozen
from evictd.core.model.decision import Decision, EvictionCause, EvictPod, ReclaimNode
from evictd.core.model.observation import ReclaimOutcome, SignalObservation
from evictd.core.model.signal import Filesystem, Signal
from evictd.core.units.duration import MINUTE, SECOND
from evictd.daemon.telemetry.snapshot import Decided, Refusals
from evictd.render.attribution import Filled
from evictd.render.sentences import kind_of
from evictd.render.text import first_of

REMEMBERED = 50
REFUSED = "Refused"
RECLAIM = ReclaimNode.__name__
OWNER_QUIET = 10 * MINUTE
"""Time without an eviction of an owner's pod after which its evictions are counted anew."""
_BUDGET = re.compile(r"disruption budget (?P<name>[a-z0-9.-]+) ")
"""In the API server's message: `The disruption budget web needs 1 healthy pods and has 1 currently`."""


@frozen
class _Entry:
    shown: Decided
    uid: str = ""
    """The pod of an eviction, a shortened grace period or a refusal; `shown` has that of an eviction alone."""
    device: Filesystem | None = None
    """A reclaim: the device that it was begun for."""


class RecentDecisions:
    """The last decisions, bounded; of a pod that is refused again and again one line. Times are wall-clock nanoseconds."""

    def __init__(self) -> None:
        self._entries: deque[_Entry] = deque(maxlen=REMEMBERED)

    def add(self, decision: Decision, text: str, wall: int, *, dry_run: bool = False) -> None:
        """Remember a decision."""
        shown = Decided(wall=wall, kind=kind_of(decision), text=text, dry_run=dry_run)
        if isinstance(decision, ReclaimNode):
            shown = replace(shown, signal=decision.threshold.signal.value)
        if not isinstance(decision, EvictPod):
            device = decision.device if isinstance(decision, ReclaimNode) else None
            self._append(_Entry(shown=shown, device=device))
            return
        pod = decision.pod
        if not decision.shortens:
            shown = replace(shown, pod=pod.full_name, uid=pod.uid, signal=decision.because.signal_label)
            shown = replace(self._counted(shown, owner_of(pod)), for_pages=_is_for_pages(decision.because))
        self._append(_Entry(shown=shown, uid=pod.uid))

    def _append(self, entry: _Entry) -> None:
        """Append an entry. Where all places are taken the oldest refusal goes: those of many pods would leave no eviction."""
        if len(self._entries) == REMEMBERED:
            oldest = next((place for place, each in enumerate(self._entries) if each.shown.refusals), 0)
            del self._entries[oldest]
        self._entries.append(entry)

    def _counted(self, shown: Decided, owner: str) -> Decided:
        """Add the owner of the evicted pod, and how many of its pods were evicted; those of a dry run count apart."""
        if not owner:
            return shown
        key = (owner, shown.dry_run)
        known = (each.shown for each in reversed(self._entries) if (each.shown.owner, each.shown.dry_run) == key)
        last = next((each for each in known if shown.wall - each.wall <= OWNER_QUIET), None)
        if last is None:
            return replace(shown, owner=owner, of_owner=1, of_owner_since=shown.wall)
        number = last.of_owner + (last.uid != shown.uid)
        return replace(shown, owner=owner, of_owner=number, of_owner_since=last.of_owner_since)

    def explain(self, uid: str, why: str, filled: Filled) -> bool:
        """Add to a pod's last eviction why it was chosen, and who took what was short; return whether that was not known yet.

        A dry run chooses the pod again in each cycle, with other numbers; those of the decision that is shown stay.
        """
        for number in reversed(range(len(self._entries))):
            entry = self._entries[number]
            if entry.uid == uid and entry.shown.refusals is None:
                if entry.shown.why:
                    return False
                took_most = bool(filled.pod) and filled.pod == entry.shown.pod
                shown = replace(entry.shown, why=why, filled=filled.text, took_most=took_most)
                self._entries[number] = replace(entry, shown=shown)
                return True
        return False

    def ended(self, uids: Collection[str], wall: int) -> None:
        """Add to the evictions of these pods when they ended; the first time that is said counts."""
        for number, entry in enumerate(self._entries if uids else ()):
            if entry.shown.uid in uids and entry.shown.ended is None:
                self._entries[number] = replace(entry, shown=replace(entry.shown, ended=wall))

    def reclaimed(self, outcomes: Sequence[ReclaimOutcome], wall: int) -> None:
        """Add to the last reclaim of each device that was begun before a time what its collectors freed, when they ended."""
        for device in dict.fromkeys(each.device for each in outcomes):
            ended = [each for each in outcomes if each.device is device]
            freed, removed = sum(each.freed_bytes for each in ended), sum(each.removed for each in ended)
            for number in reversed(range(len(self._entries))):
                entry = self._entries[number]
                if entry.shown.kind == RECLAIM and entry.shown.wall < wall and device in {entry.device, None}:
                    shown = replace(entry.shown, freed=freed, removed=removed)
                    self._entries[number] = replace(entry, shown=shown)
                    break

    def measured(self, seen: Mapping[Signal, SignalObservation], wall: int) -> None:
        """Add to evictions whose pods ended within the last minute what is left: what a pod held shows in that time.

        Not once another pod was evicted for the signal since that end: by then something else has taken what it gave back.
        """
        ended = [
            (number, entry.shown, entry.shown.ended)
            for number, entry in enumerate(self._entries)
            if entry.shown.ended is not None and SECOND <= wall - entry.shown.ended <= MINUTE
        ]
        if not ended:
            return  # as in most cycles
        amounts = {signal.value: each.available.value() for signal, each in seen.items()}
        last = {each.shown.signal: each.shown.wall for each in self._entries if each.shown.pod}
        for number, shown, at in ended:
            if shown.signal in amounts and last[shown.signal] <= at:
                left = replace(shown, left=amounts[shown.signal], left_after=wall - at)
                self._entries[number] = replace(self._entries[number], shown=left)

    def refused(self, refusal: Refusal, wall: int) -> None:
        """Replace the pod's eviction and its earlier refusals by a refusal."""
        uid = refusal.victim.uid
        earlier = [each.shown.refusals for each in self._entries if each.uid == uid and each.shown.refusals]
        budget, detail = _BUDGET.search(refusal.answer.detail), refusal.answer.detail
        refusals = Refusals(
            pod=refusal.victim.full_name,
            count=1 + sum(each.count for each in earlier),
            since=min((each.since for each in earlier), default=wall),
            by=f"budget {budget['name']}" if budget else "the API server",
            why="" if budget else detail,
        )
        shown = Decided(wall=wall, kind=REFUSED, text=_refused_text([refusals]), refusals=refusals)
        self._entries = deque((each for each in self._entries if each.uid != uid), maxlen=REMEMBERED)
        self._append(_Entry(shown=shown, uid=uid))

    def all(self) -> tuple[Decided, ...]:
        """Return them, newest last."""
        return tuple(each.shown for each in self._entries)


def _is_for_pages(because: EvictionCause) -> bool:
    """Whether clean file pages were most of what the pod held, or all that was missing on the node."""
    pages, of_node = because.file_pages or 0, because.node_file_pages or 0
    if because.usage is None or because.limit is None or because.available is None or not pages + of_node:
        return False
    return pages * 2 >= because.usage.value() or of_node >= because.limit.value() - because.available.value()


def folded_refusals(decisions: Iterable[Decided]) -> Iterator[Decided]:
    """Yield the decisions, with one line for the refusals of several pods that follow one another and have one reason."""
    for reason, group in groupby(decisions, key=lambda each: each.refusals and (each.refusals.by, each.refusals.why)):
        if reason is None:
            yield from group
            continue
        refused = list(group)
        yield replace(refused[-1], text=_refused_text([each.refusals for each in refused if each.refusals]))


def _refused_text(refusals: Sequence[Refusals]) -> str:
    """Write which pods stay, the one that was refused first at the front, who refused their evictions, how often and why."""
    pods = [each.pod for each in sorted(refusals, key=lambda each: each.since)]
    times, since = sum(each.count for each in refusals), min(each.since for each in refusals)
    often = "" if times == 1 else f", {times} times since {rfc3339(since)[11:16]}"
    why = f": {refusals[0].why}" if refusals[0].why else ""
    return f"{first_of(pods)} {'stays' if len(pods) == 1 else 'stay'}, refused by {refusals[0].by}{often}{why}"

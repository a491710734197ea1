"""Tells the evictions of a replay that the API server refused, or whose answer is not recorded, from those that ended a pod."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from evictd.codec.records.journal import JournalEntry
from evictd.codec.records.journal_record import name_of, uid_of
from evictd.core.frozen import frozen
from evictd.core.model.config import EvictionMethod
from evictd.core.model.observation import EvictionAnswerKind
from evictd.render.text import clean, first_of

Plain = Mapping[str, Any]
_SHOWN = 3


@frozen
class RecordedRefusals:
    """What a journal has of refused evictions."""

    asked: frozenset[tuple[str, str]]
    """Time and uid of the recorded evictions."""
    refused: Mapping[tuple[str, str], str]
    """The pod by time and uid of those that were refused."""
    pod_termination: EvictionMethod | None = None
    """What was in effect at the last of them; `None`: not recorded."""

    def may_stay(self, wall: str, uid: str) -> bool:
        """Whether an eviction at that time was refused; or was not asked for then, of a pod that was refused at another time."""
        asked = wall, uid
        return asked in self.refused or (asked not in self.asked and any(uid == each for _, each in self.refused))

    def ended(self, wall: str, decisions: Iterable[Plain]) -> Iterator[Plain]:
        """Yield the decisions of a cycle without the evictions of pods that may stay."""
        return (each for each in decisions if not self.may_stay(wall, _uid(each)))

    def text(self, now: EvictionMethod | None = None, by_kubelet: str = "") -> str:
        """Write which evictions were refused, and what is not known of `podTermination` now; empty without one.

        `by_kubelet` is what a kubelet would have done, where that was asked.
        """
        if not self.refused:
            return ""
        found = first_of([f"{clean(pod)} at {clean(wall)}" for (wall, _), pod in self.refused.items()], _SHOWN)
        return f"The API server refused then: {found}. {by_kubelet or self._unknown_text(now)}"

    def _unknown_text(self, now: EvictionMethod | None) -> str:
        then = self.pod_termination
        if now in {EvictionMethod.DELETE, EvictionMethod.STATUS}:
            return f"With podTermination {now.value} it is not asked, so no budget keeps these pods."
        if then is None or now is None:
            return "How it answers at other times, or to another podTermination, is not recorded."
        if then is now:
            return "How it answers at other times is not recorded."
        return (
            f"How it answers at other times, or to podTermination {now.value} instead of {then.value}, is not recorded."
        )


def recorded_refusals(entries: Sequence[JournalEntry]) -> RecordedRefusals:
    """Return the evictions of a journal that the API server refused: its answers are in the entries after them."""
    asked, refused = set[tuple[str, str]](), dict[tuple[str, str], str]()
    termination: EvictionMethod | None = None
    pending: dict[str, tuple[int, str, str]] = {}
    """The last eviction of each pod that was not answered: `now`, time and name."""
    for entry in entries:
        for answer in entry.observation.outcomes.answers:
            if answer.uid in pending and answer.at >= pending[answer.uid][0]:
                _, wall, name = pending.pop(answer.uid)
                if answer.kind is EvictionAnswerKind.REFUSED:
                    refused[wall, answer.uid] = name
                    termination = entry.config.pod_termination
        for each in entry.decisions:
            if uid := _uid(each):
                asked.add((entry.wall, uid))
                pending[uid] = entry.now, entry.wall, name_of(each)
    return RecordedRefusals(asked=frozenset(asked), refused=refused, pod_termination=termination)


def _uid(decision: Plain) -> str:
    """Return the uid of the pod that is evicted; empty for another decision, or a damaged one."""
    return uid_of(decision) if decision.get("kind") == "EvictPod" else ""

"""Says which pods came around an eviction: a verdict on its need counts with none that came."""

from collections.abc import Iterable

from evictd.codec.records.journal_record import JournalRecord
from evictd.core.frozen import frozen
from evictd.core.units.duration import MINUTE, SECOND, format_duration, format_seconds
from evictd.render.history.history import HistoryEvent
from evictd.render.incident.record.aftermath import seconds_between
from evictd.render.text import clean, counted

_FOLLOWED = 5 * MINUTE
"""How long pods are looked for: as long as a verdict looks ahead."""


@frozen
class NewPods:
    """Pods that came before an eviction and after it."""

    before: int = 0
    """How many came shortly before."""
    over: int = 0
    """In how many nanoseconds before the eviction they came: half a minute or more."""
    held: int = 0
    """What these held, in the unit of the signal."""
    after: int = 0
    """How many others than of the evicted pod's owner came in the five minutes after."""

    @property
    def text(self) -> str:
        """That pods came, which a verdict does not count with; empty where none came."""
        if self.after:
            pods = "1 other pod" if self.after == 1 else f"{self.after} other pods"
            return f"{pods} came in the {format_duration(_FOLLOWED)} after it"
        return self.before_text if self.before else ""

    @property
    def before_text(self) -> str:
        """How many came in which time before."""
        return f"{counted(self.before, 'pod')} came in the {format_seconds(self.over)} before it"


def arrivals_after(record: JournalRecord, later: Iterable[JournalRecord], event: HistoryEvent) -> NewPods:
    """Return how many pods came after an eviction that do not replace the evicted one."""
    known = {each.metadata.uid for each in record.observation.pods} | {event.uid}
    near = (each for each in later if 0 <= seconds_between(record, each) * SECOND <= _FOLLOWED)
    new = {
        pod.metadata.uid
        for each in near
        for pod in each.observation.pods
        if pod.metadata.uid not in known and (not event.owner or clean(pod.owner) != event.owner)
    }
    return NewPods(after=len(new))

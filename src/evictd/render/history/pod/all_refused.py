"""Says that disruption budgets refused each eviction since the last one, which is how the node stands at the end of a journal."""

from collections.abc import Sequence

from evictd.core.frozen import frozen
from evictd.render.attribution import clock_text
from evictd.render.history.history import EventKind, HistoryEvent
from evictd.render.status.remedy_texts import LOOK_AT_BUDGETS
from evictd.render.text import clean, first_of

_NAMED = 3
"""How many pods are named."""
_OVER = frozenset({EventKind.EVICTED, EventKind.NO_ACTION, EventKind.WITHDRAWN, EventKind.BOOT})
"""Events after which earlier refusals are not the last state."""


@frozen
class AllRefused:
    """The refusals at the end of a journal, of at least one pod."""

    since: str
    at: str
    """The RFC 3339 time of the last one."""
    pods: tuple[str, ...]
    """`namespace/name` of each, the first that was refused first."""

    @property
    def text(self) -> str:
        """Write that no pod may go."""
        since = clean(clock_text(self.since))
        return f"disruption budgets have refused each eviction since {since}: of {first_of(self.pods, _NAMED)}"

    @property
    def remedy(self) -> str:
        """Write where to look."""
        return guarded_remedy(self.pods)


def guarded_remedy(pods: Sequence[str]) -> str:
    """Return where to look about the pods, `namespace/name`, that disruption budgets guard, as a clause."""
    return f"{LOOK_AT_BUDGETS}: {first_of(pods, _NAMED)} may not go"


def all_refused(events: Sequence[HistoryEvent]) -> AllRefused | None:
    """Return the refusals after the last eviction and the last reason for none; `None` where there are none."""
    found = list[HistoryEvent]()
    for event in reversed(events):
        if event.kind in _OVER or event.ended:
            break
        if event.kind is EventKind.REFUSED:
            found.append(event)
    if not found:
        return None
    return AllRefused(
        since=found[-1].at, at=found[0].at, pods=tuple(dict.fromkeys(each.pod for each in reversed(found)))
    )

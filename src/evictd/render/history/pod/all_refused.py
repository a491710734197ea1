"""Says that disruption budgets refused each eviction since the last one, which is how the node stands at the end of a journal."""

import re
from collections.abc import Iterable, Sequence

from evictd.core.frozen import frozen
from evictd.render.attribution import clock_text
from evictd.render.history.history import EventKind, HistoryEvent
from evictd.render.status.remedy_texts import LOOK_AT_BUDGETS
from evictd.render.text import clean, first_of

_NAMED = 3
"""How many pods are named."""
_BUDGET = re.compile(r"disruption budget (?P<name>[a-z0-9.-]+) (?:needs|is still) ")
"""In the API server's message: `The disruption budget web needs 1 healthy pods and has 1 currently`."""
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
    budgets: tuple[str, ...] = ()
    """`namespace/name` of the disruption budgets that the API server named."""

    @property
    def text(self) -> str:
        """Write that no pod may go."""
        since = clean(clock_text(self.since))
        return f"disruption budgets have refused each eviction since {since}: of {first_of(self.pods, _NAMED)}"

    @property
    def remedy(self) -> str:
        """Write where to look."""
        return guarded_remedy(self.pods, self.budgets)


def guarded_remedy(pods: Sequence[str], budgets: Sequence[str] = ()) -> str:
    """Return where to look about the pods, `namespace/name`, that disruption budgets guard, as a clause."""
    by = f" because of {first_of(budgets, _NAMED)}" if budgets else ""
    return f"{LOOK_AT_BUDGETS}: {first_of(pods, _NAMED)} may not go{by}"


def budgets_of(refusals: Iterable[HistoryEvent]) -> tuple[str, ...]:
    """Return the disruption budgets, `namespace/name`, that the API server named in refusals, each once."""
    found = ((each.pod.partition("/")[0], _BUDGET.search(each.text)) for each in refusals)
    return tuple(dict.fromkeys(f"{namespace}/{named['name']}" for namespace, named in found if named is not None))


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
    found.reverse()
    return AllRefused(
        since=found[0].at,
        at=found[-1].at,
        pods=tuple(dict.fromkeys(each.pod for each in found)),
        budgets=budgets_of(found),
    )

"""Says at the top of the page which pods would be evicted first, and why, from `/statusz` and `/explainz`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evictd.core.model.signal import Resource
from evictd.render.status.headline import Headline, OwnFault, beside_faults
from evictd.render.status.holders import full_name, measured_before
from evictd.render.status.leaving_pods import only_if
from evictd.render.status.next_pod import before_first, first_if_it_grows
from evictd.render.status.owners import new_pods
from evictd.render.status.proposed import unread_budgets
from evictd.render.status.times.nearest import nearest
from evictd.render.status.times.timing import approaches
from evictd.render.text import usage_text

Document = Mapping[str, Any]

_SHOWN_NEXT = 3
_FIRST = "would be evicted first"


def next_lines(status: Document, explained: Document, head: Headline, faults: Sequence[OwnFault]) -> list[str]:
    """Return the pods that would be evicted first for the nearest kinds of shortage, and why; at most `_SHOWN_NEXT` of them.

    Beside them stand the new pods of owners whose last pod filled the node.
    """
    said = " ".join((head.text, *beside_faults(status, faults)))
    firsts, others = list(_firsts(status, explained, said))[:_SHOWN_NEXT], filter(None, (unread_budgets(status),))
    return [*firsts, *(f"{each}." for each in (*others, *new_pods(status)))]


def _would_go(status: Document) -> str:
    """Write of the next pod when it would go: after which others, if any."""
    if not (only := only_if(status)):
        return _FIRST
    asked = status["asked"] and all(row["gone"] for row in status["leaving"])
    return f"{'is asked for' if asked else 'would be evicted'} next, {only}"


def _firsts(status: Document, explained: Document, said: str) -> Iterator[str]:
    """Yield the pod that would be evicted first for each kind of shortage, and why; only why where `said` names it.

    Where `said` or the nearest threshold names signals, or one is short, the others are far from it: their pods stand in the
    order of eviction.
    """
    named = f"{said} {nearest(status)}"
    would, leaves = _would_go(status), any(not row["gone"] for row in status["leaving"])
    queues = [queue for queue in explained["queues"] if queue["next"]]
    near = [each for each in queues if any(signal in named for signal in each["signals"])]
    told = near if near or _is_short(status) else queues
    several = sum(each["next"] in said and bool(each["nextWhy"]) for each in told) > 1
    for queue in told:
        row = next((row for row in queue["rows"] if full_name(row) == queue["next"]), None)
        measured = row is not None and row["usage"] is not None
        before = "" if row is None else measured_before(row)
        why = f": {queue['nextWhy']}{f' ({before})' if before else ''}" if queue["nextWhy"] else ""
        then = first_if_it_grows(status, queue)
        if queue["next"] not in said:
            used = usage_text(row["usage"], Resource(queue["resource"])) if row is not None and measured else ""
            pod = f"{queue['next']} ({used})" if used and f"uses {used}" not in why else queue["next"]
            now = " now" if then and would == _FIRST else ""
            yield f"{', '.join(queue['signals'])}: {pod} {would}{now}{why}{then}{before_first(status, queue)}."
        elif why:
            alone = {each["next"] for each in queues if each["next"] in said}
            culprit = any(each.get("stopIfItGrows") for each in status["signals"])  # it is named as well
            pod = "that pod" if len(alone) == 1 and not culprit else queue["next"]  # a name may be long
            other = not any(signal in said for signal in queue["signals"])
            of_signal = f" for {queue['signals'][0]}" if several or other else ""
            yield f"Why {pod} is {'next' if leaves else 'first'}{of_signal}{why}."


def _is_short(status: Document) -> bool:
    """Whether a threshold is met, or will be soon."""
    met = any(threshold["met"] for entry in status["signals"] for threshold in entry["thresholds"])
    return met or bool(approaches(status))

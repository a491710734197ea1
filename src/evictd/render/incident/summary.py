"""Says in one sentence what an incident was: what made the node short, and what the eviction achieved."""

from collections.abc import Iterable, Sequence

from evictd.codec.times import rfc3339
from evictd.core.model.signal import Resource
from evictd.core.units.duration import MINUTE, SECOND, format_duration
from evictd.render.attribution import clock_text
from evictd.render.history.evictions import signal_of
from evictd.render.history.history import EventKind, HistoryEvent, killed_of
from evictd.render.incident.cause.came_back import came_back_cause
from evictd.render.incident.cause.earlier_step import earlier_step_text
from evictd.render.incident.cause.growers import brought_forward_cause, grew_beside_text, grower_rate
from evictd.render.incident.cause.page_cache import held_by_page_cache
from evictd.render.incident.record.aftermath import time_of
from evictd.render.incident.record.incident import Incident
from evictd.render.incident.record.readings import BEFORE, still_for
from evictd.render.incident.record.verdict import Need
from evictd.render.incident.relief.relief import killed_at_end_text, reclaim_short_text, relieved_for, unsettled_text
from evictd.render.incident.remedy.held_back import held_back_text
from evictd.render.incident.remedy.large_excess import excess_limit, protected_excess_text
from evictd.render.status.owners import AGAIN, TWICE
from evictd.render.text import amount_text, counted, duration_text, first_of, seconds_text, usage_text

_A_WHILE = 10
"""From how many seconds on it is said how long nothing was left."""
_PART = 4
"""The part of all growth from which on that of the evicted pod is named beside the most."""
_NAMED = 3
"""How many pods are named of which the kernel killed processes."""
_BRIEF = 1
"""By more than how many seconds a grace period has to be shortened to be named."""
_FILLED = {
    Resource.MEMORY: "memory",
    Resource.EPHEMERAL_STORAGE: "the disk",
    Resource.INODES: "the inodes",
    Resource.PIDS: "the PIDs",
}


def filled_name(resource: Resource) -> str:
    """Return what was filled, in words."""
    return _FILLED.get(resource, resource.value)


def summary_text(found: Incident) -> str:
    """Write cause and effect; empty where neither is known."""
    texts = filter(
        None,
        (
            _cause_text(found)
            if found.first is None
            else came_back_cause(found, found.first, _cause_text(found.first)),
            earlier_step_text(found),
            _asked_text(found),
            _shortened_text(found),
            "it ended only when it was killed" if killed_at_end_text(found) else "",
            _effect_text(found),
            _again_text(found) or _others_text(found),
        ),
    )
    held_back = held_back_text(found) if (found.came_back or 0) < (found.missing or 0) and found.settled else ""
    return "; ".join((*texts, *filter(None, (held_back, _killed_text(found)))))


def _killed_text(found: Incident) -> str:
    """Write of which other pods the kernel killed processes in the minutes around the eviction; empty where of none."""
    before, after = (_killed(found, each) for each in (found.before, found.after))
    if not before + after:
        return ""
    when = "before and afterwards" if before and after else "before" if before else "afterwards"
    pods = first_of(tuple(dict.fromkeys((*before, *after))), _NAMED)
    return f"the kernel killed processes of {pods} {when}"


def _killed(found: Incident, events: Iterable[HistoryEvent]) -> tuple[str, ...]:
    return tuple(each for each in killed_of(events) if each != found.event.pod)


def within_text(found: Incident) -> str:
    """Write that the pod that grew was within its request; empty where it was not, or the evicted pod was as well."""
    row, resource = found.within_request, found.resource
    if row is None or resource is None:
        return ""
    return f"within its request ({amount_text(row.usage, resource)} of {amount_text(row.request, resource)})"


def _asked_text(found: Incident) -> str:
    """Write that a resize of the pod was not granted; empty where none was asked for."""
    victim = found.victim
    if not found.asked or victim is None:
        return ""
    granted, asked = (amount_text(each, Resource.MEMORY) for each in (victim.request, found.asked))
    return f"its request counts as {granted}, because its resize to {asked} was not granted"


def excess_text(found: Incident) -> str:
    """Write how much more than it requested the evicted pod held."""
    victim, resource = found.victim, found.resource
    if victim is None or resource is None:
        return ""
    held = amount_text((victim.usage or 0) - victim.request, resource)
    return f"{found.event.pod} held {held} " + ("more than it requested" if victim.request else "and requested none")


def _shortened_text(found: Incident) -> str:
    """Write that its grace period was shortened; empty where it was not, or by a second."""
    short = next(
        (each for each in found.after if each.kind is EventKind.SHORTENED and each.uid == found.event.uid), None
    )
    if short is None:
        return ""
    before, after = (int(each.evidence.get("gracePeriodSeconds") or 0) for each in (found.event, short))
    return f"its grace period was shortened from {before}s to {after}s" if before - after > _BRIEF else ""


def _again_text(found: Incident) -> str:
    """Write that pods of its owner go again and again; a second one counts where its own growth was the cause."""
    least = TWICE if found.own_cause else AGAIN
    return f"{found.of_owner} pods of {found.event.owner} were evicted here" if found.of_owner >= least else ""


def _others_text(found: Incident) -> str:
    """Write how many other pods were evicted for the signal in the minutes before, or for the same growth; empty for none."""
    if found.signal is None:
        return ""
    same_growth = (each.event for each in found.earlier if each.grower and each.grower == each.now)
    evicted = [each for each in found.before if each.kind is EventKind.EVICTED and not each.dry_run]
    others = {each.uid: each for each in (*evicted, *same_growth) if signal_of(each) is found.signal}
    others.pop(found.event.uid, None)
    if not others:
        return ""
    over = time_of(found.event.at) - min(time_of(each.at) for each in others.values())
    within = f"{-(-over // MINUTE)} minutes" if over > BEFORE else "minutes"
    were = "was" if len(others) == 1 else "were"
    return f"{counted(len(others), 'other pod')} {were} evicted in the {within} before"


_FASTER = 2
"""By how many times the signal fell faster just before the eviction than the grower's mean rate, where that is called a mean."""


def _cause_text(found: Incident) -> str:
    """Write what made the node short, from the surest reason to the least sure one."""
    pod, resource, verdict = found.event.pod, found.resource, found.verdict
    if found.signal is None or resource is None:
        return f"{pod} exceeded a limit of its own"
    if found.kept_by_min_reclaim:
        kept = "the threshold was clear already, its minimum reclaim was not"
        grower = None if verdict is None or found.met_by_itself is None else verdict.grower
        if grower is None or not grower.pod:
            return kept
        return f"{kept}, and {grower.pod} grew by {usage_text(grower_rate(found, grower), resource)} a second"
    if held_by_page_cache(found):
        return "page cache that the kernel can drop held the threshold met"
    if not found.measured:
        return _unmeasured_text(found, resource)
    if found.host_filled:
        volume = " or lies in a hostPath volume" if found.on_disk else ""
        filled = f"what filled {filled_name(resource)} belongs to no pod{volume}{_full_text(found)}"
        return ", and ".join(filter(None, (filled, grew_beside_text(found))))
    grower = None if verdict is None else verdict.grower
    went = _went_text(found)
    if forward := brought_forward_cause(found, went):
        return forward
    if (over := found.overcommit) is not None:
        return f"{over.cause}; {pod} {went}"
    if (within := within_text(found)) and grower is not None:
        beside = protected_excess_text(found) if excess_limit(found).by else ""
        return "; ".join(filter(None, (f"{grower.pod} grew {within}", beside, f"{excess_text(found)}, and {went}")))
    if grower is not None and grower.pod:
        grew = grower_rate(found, grower)
        decided = found.event.because.get("fillRate")
        mean = " on average" if isinstance(decided, int) and decided > grew * _FASTER else ""
        rate = f"by {usage_text(grew, resource)} a second{mean}"
        if found.for_soft and (still := still_for(found.points)):
            rate = f"until {seconds_text(still)} before"
        other = f"{_own_growth_text(found)}, and {pod} {went}"
        return f"{grower.pod} grew {rate}" + (f" and {went}" if grower.pod == pod else other)
    return _unsure_cause_text(found, went)


def _own_growth_text(found: Incident) -> str:
    """Write by how much the evicted pod grew beside the one that grew most; empty where that was less than a quarter of all."""
    own = next((each for each in found.growers if each.pod == found.event.pod), None)
    if own is None or found.resource is None or own.rate * _PART < sum(each.rate for each in found.growers):
        return ""
    return f", {own.pod} by {usage_text(grower_rate(found, own), found.resource)}"


def _went_text(found: Incident) -> str:
    """Write that the pod went, or would have in a dry run, with the reclaim or the budget that comes before."""
    went = "would have gone" if found.event.dry_run else "is being evicted" if found.leaves else "went"
    if found.event.unless_reclaim:
        went += " unless the reclaim before freed enough"
    if found.refusals:
        went += f" after a disruption budget had refused it {counted(found.refusals, 'time')}"
    return went


def _unmeasured_text(found: Incident, resource: Resource) -> str:
    """Write that its end showed what a pod held that was not measured; otherwise that this is not known."""
    age = found.event.because.get("usageAgeNanoseconds")
    over = f" in the {duration_text(age)} before" if isinstance(age, int) else ""
    unmeasured = f"{found.event.pod} was not measured{over}"
    if found.held_unmeasured:
        return f"{unmeasured}, and its end showed that it held what was missing"
    return f"{unmeasured}, so how much it took of {filled_name(resource)}{' then' if over else ''} is not known"


def _full_text(found: Incident) -> str:
    """Write since when nothing at all was left, where that is a while: evictd may have paused meanwhile."""
    since = found.full_since or 0
    at = clock_text(rfc3339(time_of(found.event.at) - round(since * SECOND)))
    return f", and nothing was left from {at} on" if since >= _A_WHILE else ""


def _unsure_cause_text(found: Incident, went: str) -> str:
    """Write what is known of the cause where no pod made most of the growth."""
    pod, resource, verdict, victim = found.event.pod, found.resource, found.verdict, found.victim
    growers = () if verdict is None else verdict.growers
    if found.stands_still:
        return "nothing grew afterwards" if found.rate is None else "nothing grew in the minute before"
    if found.need is Need.NO_POD_HELPS:
        return "no pod that may go held what was missing"
    if len(growers) > 1 and growers[0].pod and resource is not None:
        rate = usage_text(sum(grower_rate(found, each) for each in growers if each.pod), resource)
        grown = [each.pod for each in growers if each.pod]
        of_owner = bool(found.event.owner) and found.siblings.issuperset(set(grown) - {pod})
        who = f"{counted(len(grown), 'pod')} of {found.event.owner}" if of_owner else _named(grown, pod)
        return f"{who} grew by {rate} a second{' together' if len(grown) > 1 else ''}, and {pod} {went}"
    excess = 0 if victim is None or not victim.request else (victim.usage or 0) - victim.request
    if resource is not None and found.missing is not None and excess >= found.missing:
        return f"{pod} held {amount_text(excess, resource)} more than it requested, and {went}"
    arrivals = found.arrivals
    if filled_by_arrivals(found) and resource is not None:
        return f"{arrivals.before_text}, {usage_text(arrivals.held, resource)} together, and {pod} {went}"
    if found.pods_filled and found.main_grower and resource is not None:
        filled = f"{found.main_grower} filled {filled_name(resource)}"
        return f"{filled} and {went}" if found.main_grower == pod else f"{filled}, and {pod} {went}"
    if found.pods_filled and resource is not None:
        of = f" of {found.filled_by}" if found.filled_by else ""
        return f"pods{of} filled {filled_name(resource)}, no one of them most of it"
    return ""


def _named(grown: Sequence[str], evicted: str) -> str:
    """Write which pods grew: the fastest and, before others, the evicted one."""
    first, *others = grown
    others.sort(key=lambda each: each != evicted)
    if not others:
        return first
    more = f" and {counted(len(others) - 1, 'more pod')}" if others[1:] else ""
    return f"{first}{',' if more else ' and'} {others[0]}{more}"


def filled_by_arrivals(found: Incident) -> bool:
    """Whether pods that came shortly before took at least half of what was taken, and nothing that was there grew."""
    came, grew = found.arrivals, bool(found.growers)
    return came.before > 0 and came.held * 2 * SECOND >= (found.rate or 0) * came.over > 0 and not grew


def _effect_text(found: Incident) -> str:
    """Write whether the eviction relieved the node, for how long, and whether it was needed."""
    missing, came_back, again = found.missing, found.came_back, found.met.again
    if found.event.dry_run or missing is None:
        return ""
    if short := reclaim_short_text(found):
        return f"the eviction gave back enough for the threshold, {short}"
    if found.relieved:
        return "the eviction relieved the node"
    grows = bool(found.growers)
    # Met again although none was foreseen to be met, what grew did not go on as before.
    refuted = found.need is Need.NOTHING_SHORT and grows and again is not None and not found.arrivals.text
    refuted |= found.need is Need.ANOTHER_POD and found.relieved_as_judged
    blamed = (found.verdict is not None and found.verdict.only_larger) or found.overcommit is not None
    if found.need in {Need.NOTHING_SHORT, Need.ANOTHER_POD} and not (refuted or blamed):
        return _not_needed_text(found, grows=grows)
    if came_back is None:
        return ""
    if came_back < missing:
        return unsettled_text(found) or "the eviction gave back too little"
    if again is not None:
        return f"the eviction relieved the node for {relieved_for(found)} only"
    return "the eviction gave back enough"


def _not_needed_text(found: Incident, *, grows: bool) -> str:
    """Write that the eviction was not needed, with what that counts on; or which pods came, with which it is not known."""
    if found.verdict is not None and found.verdict.need is Need.NOTHING_SHORT and (came := found.arrivals.text):
        return f"the eviction was not needed by what was there, but {came}"
    if grows and found.verdict is not None:
        if found.verdict.need is Need.ANOTHER_POD and found.verdict.fewest:
            enough = f"the end of {', '.join(found.verdict.fewest)} in its place would have been enough"
            return f"the eviction was not needed: {enough}, also at the growth of {found.verdict.before}"
        over = format_duration(found.verdict.played)
        return f"the eviction was not needed if growth went on for {over} as in {found.verdict.before}"
    return "the eviction was not needed if no other pod came"

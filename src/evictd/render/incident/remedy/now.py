"""Says what to do now about an incident that is not over: an owner whose pods go again and again, a hidden writer, a leak."""

from typing import NamedTuple

from evictd.core.model.signal import WITH_REQUEST, Resource
from evictd.core.units.duration import MINUTE, SECOND
from evictd.render.history.evictions import signal_of
from evictd.render.history.history import EventKind, HistoryEvent
from evictd.render.incident.cause.came_back import comes_again_text
from evictd.render.incident.cause.growers import (
    grew_beside_text,
    grew_together,
    grower_rate,
    only_others_grew,
    other_growers,
)
from evictd.render.incident.cause.outside_pods import reserve_text
from evictd.render.incident.cause.page_cache import held_by_page_cache
from evictd.render.incident.record.aftermath import time_of
from evictd.render.incident.record.incident import CONTAINER_LOGS, Incident
from evictd.render.incident.record.journal_end import ends_before_relief_text
from evictd.render.incident.record.verdict import Grower, Need
from evictd.render.incident.remedy.avoidance import avoidance
from evictd.render.incident.remedy.held_back import held_back_remedy, passed_budget_text
from evictd.render.incident.remedy.on_host import look, on_host
from evictd.render.incident.remedy.read_now import last_left_text, short_text
from evictd.render.incident.remedy.shared_limits import shared_limits
from evictd.render.incident.remedy.within_limit import exceeded_later, excess_remedy
from evictd.render.incident.summary import filled_by_arrivals, filled_name
from evictd.render.status.owners import AGAIN, TWICE, mend_evicted, mend_owner
from evictd.render.status.remedy_texts import LOWER_THRESHOLD, host_path_remedy, remedy_of
from evictd.render.text import amount_text, first_of, usage_text

_NAMED = 3
_STILL_MET = "the threshold is still met"


class _ToDo(NamedTuple):
    """What is to do, after the state of the node that is the reason for it; `text` is empty for nothing, `state` for none."""

    text: str
    state: str = ""

    @property
    def whole(self) -> str:
        return f"{self.state}: {self.text}" if self.state else self.text


def now_text(found: Incident) -> str:
    """Return how the node is and what to do now as a clause; empty where neither is known."""
    to_do, not_known = _to_do(found), ends_before_relief_text(found)
    text = to_do.text
    if not (text or not_known) and found.still_met:
        text = _see_last(found)
    text = "; ".join(filter(None, (text, _also_grew(found, text))))
    if to_do.state and not not_known:
        clauses = [_ToDo(text, to_do.state).whole]
    else:
        clear = "" if found.also_short else found.clear_text
        clauses = [not_known or (short_text(found) if found.still_met else clear), _quiet_text(found), text]
    left = "" if clauses[0].startswith(short_text(found)) else last_left_text(found)
    return "; ".join(filter(None, (*clauses, left, found.paused)))


def _quiet_text(found: Incident) -> str:
    """Write that nothing has grown since, and what makes the node short again; empty where something grows, or may."""
    resource = found.resource
    if not found.quiet or found.still_met or found.grows_on is not None or resource is None or found.event.dry_run:
        return ""
    if found.also_short:
        return ""  # of that something may grow
    grew = [each.pod for each in found.growers if each.pod]
    quiet = "nothing grew any more at the journal's last record"
    if not grew or found.host_filled or held_by_page_cache(found):
        return quiet
    if len(grew) > 1:
        return f"{quiet}: the node is short again if {first_of(grew, _NAMED)} grow as before"
    owner = next(each.owner for each in found.growers if each.pod)
    which = ", which still runs," if grew[0] in found.running else " or its next pod" if owner else ""
    return f"{quiet}: the node is short again if {grew[0]}{which} grows as before"


def _also_grew(found: Incident, named: str) -> str:
    """Write to limit what grew beside a pod of the clauses `named`, and is not in them; empty where nothing did.

    Each is a leak of its own: the pod, or the next one of its owner, fills a node where only the other one is mended.
    """
    here = found.running | {found.event.pod if found.protected_grower else ""}
    grew = shared_limits(found).pods
    pods = (each for each in grew if each.owner or each.pod in here)
    others = [each for each in pods if each.pod not in found.steady and each.pod not in named]
    left = [each for each in others if not (each.owner and each.owner in named)]
    if not left or not named or {each.owner for each in grew} == {found.event.owner} - {""}:
        return ""
    what = dict.fromkeys(f"what {each.owner} runs" if each.owner else each.pod for each in left)
    names = first_of([*dict.fromkeys(each.pod for each in left)], _NAMED)
    return f"limit {first_of([*what], _NAMED)} as well: {names} grew, too"


def _see_last(found: Incident) -> str:
    """Write where it is said what is short now: at the last eviction for the same signal, if that is a later one."""
    pods = [each.pod for each in _evicted_later(found) if signal_of(each) is found.signal]
    return f"`evictd incident {pods[-1]}` shows the last eviction for it" if pods else ""


def _to_do(found: Incident) -> _ToDo:
    """Return what to do now; its text is empty where that is not known."""
    left = _left_to_do(found)
    if found.event.dry_run:
        return left
    if left.text:
        own = [] if _mend_again(found) else _of_pod(found)
        if grew_beside_text(found):
            own = [_mend_text(found, found.event)]
        return left._replace(text="; ".join((left.text, *own)))
    if growing := _grows_on_text(found):
        return _ToDo("; ".join((growing, *_of_pod(found))))
    return _ToDo(_relieved_text(found) or "; ".join(_of_pod(found)) or _relieved_later(found) or _host_again(found))


def now_of_growing(found: Incident, pod: str) -> str:
    """Return what to do now where that names a pod, `namespace/name`, that grew and still runs; empty otherwise."""
    now, on = now_text(found), () if found.grows_on is None else found.grows_on.pods
    named = ((_still_growing(found), _growing(found)), (_grows_on_text(found), on))
    return now if any(pod in pods and text and text in now for text, pods in named) else ""


def _grows_on_text(found: Incident) -> str:
    """Write what makes the node short again, when, and what to do about it; empty where nothing is known to."""
    grows, resource = found.grows_on, found.resource
    if grows is None or resource is None or found.still_met or held_by_page_cache(found):
        return ""
    remedies = [_limit_or_end(resource, len(grows.pods))] if grows.pods else []
    if grows.of_no_pod:
        remedies.append(": ".join(filter(None, (look(found), on_host(found)))))
    return f"{grows.text(resource)}: {'; '.join(remedies)}"


def _limit_or_end(resource: Resource, pods: int) -> str:
    """Write what to do about pods that grow and run."""
    limit = "limit" if resource in WITH_REQUEST else "mend"
    return f"{limit} or end {'it' if pods == 1 else 'them'}"


def _relieved_text(found: Incident) -> str:
    """Write that nothing is to do while the node stays relieved, or for whom; empty where it is not known to be."""
    if not found.relieved:
        return ""
    if found.also_short:
        return "; ".join((found.also_short, *_of_pod(found)))
    state = "" if found.clear_text else "the node is relieved"
    if again := _host_again(found):
        return "; ".join(filter(None, (state, again, reserve_text(found))))
    return "; ".join(filter(None, (state, *(_of_pod(found) or [_nothing_to_do(found)]))))


def _host_again(found: Incident) -> str:
    """Write where to look for what belongs to no pod if the node is short again; empty where that did not fill it."""
    shown = on_host(found) if found.host_filled and not held_by_page_cache(found) else ""
    return f"if it is short again, {look(found)}: {shown}" if shown else ""


def _nothing_to_do(found: Incident) -> str:
    """Write that nothing is to do, and where it is said what would have avoided it."""
    if avoidance(found).by:
        see = "to avoid the next one, see what would have avoided it"
        return see if ": " in _quiet_text(found) else f"nothing to do now; {see}"
    return "nothing to do, unless it is short again"


def _relieved_later(found: Incident) -> str:
    """Write that the end of the pod that grew most relieved the node after this eviction; empty where it is not known to."""
    later = _grower_later(found)
    if later is None or found.still_met or found.pressed or later.pod in found.running:
        return ""
    known_for = found.known_for - (time_of(later.at) - time_of(found.event.at)) / SECOND
    if _evicted_later(found)[-1] is not later or known_for < MINUTE // SECOND:
        return ""
    again = f"; the next pod of {later.owner} may fill its node as well" if later.owner else ""
    relieved = f"the end of {later.pod}, which grew and was evicted after this pod, relieved the node"
    return f"{relieved}: {_nothing_to_do(found)}{again}"


def _evicted_later(found: Incident) -> list[HistoryEvent]:
    soon = (each for each in found.after if each.kind is EventKind.EVICTED and not each.dry_run)
    return [*soon, *found.evicted_later]


def _grower_later(found: Incident) -> HistoryEvent | None:
    """Return the later eviction of the pod that made most of the growth; `None` where it was not evicted."""
    grower = found.grower
    return next(
        (each for each in _evicted_later(found) if grower is not None and grower.pod and each.pod == grower.pod), None
    )


def _of_pod(found: Incident) -> list[str]:
    """Return what to do about a pod that grew or exceeded its request, whose budget was passed over, and what to reserve."""
    texts = list[str]()
    if (found.own_cause or found.exceeded_unmeasured) and not held_by_page_cache(found):
        size = " (if files in its emptyDir in memory fill it, sizeLimit bounds them)" if found.in_memory else ""
        here = next(
            (f"{name} runs here and may fill this" for name, _ in found.successors if name in found.running), ""
        )
        then = f": {here or 'its next pod may fill its'} node as well" if found.event.owner else ""
        texts.append(f"{_mend_text(found, found.event, size)}{then}")
    if _exceeded_beside(found):
        texts.append(excess_remedy(found))
    if found.event.past_budget:
        texts.append(passed_budget_text(found))
    return [*texts, *filter(None, (reserve_text(found),))]


def _exceeded_beside(found: Incident) -> bool:
    """Whether the pod held what was missing beyond its request, and one grew within its own and was not evicted later."""
    victim, spared = found.victim, found.within_request
    if victim is None or spared is None or spared.protected or found.relieved:
        return False
    if held_by_page_cache(found) or _grower_later(found) is not None:
        return False
    return (victim.usage or 0) - victim.request >= (found.missing or 0)


def _mend_text(found: Incident, evicted: HistoryEvent, size: str = "") -> str:
    """Write to mend an evicted pod, or what its owner runs; `size` is what else bounds it.

    No limit counts inodes, PIDs or deleted files.
    """
    usage = 0 if found.victim is None or found.victim.pod != evicted.pod else found.victim.usage or 0
    deleted = found.resource is Resource.EPHEMERAL_STORAGE and 0 < usage <= found.deleted * 2
    limits = found.resource in WITH_REQUEST and not deleted
    leaves = found.leaves and evicted.uid == found.event.uid
    return mend_evicted(evicted.pod, evicted.owner, found.resource, limits=limits, size=size, leaves=leaves)


def left_to_do(found: Incident) -> str:
    """Return what is left to do; empty where nothing is known to be."""
    return _left_to_do(found).whole


def _left_to_do(found: Incident) -> _ToDo:
    still_short = short_text(found) if found.still_met else ""
    no_pod_helps = found.verdict is not None and found.verdict.need is Need.NO_POD_HELPS
    if found.host_filled and found.suspects:
        owners = tuple(dict.fromkeys(filter(None, found.suspects.values())))
        return _ToDo(host_path_remedy([*found.suspects], found.resource, owners), still_short)
    if found.host_filled and found.pressed and not held_by_page_cache(found):
        shown = on_host(found)
        filled = "" if found.resource is None else f"look at the host, which filled {filled_name(found.resource)}"
        what = look(found) if found.still_met else filled
        return _ToDo(f"{what}: {shown}" if shown else what, still_short)
    if found.of_owner >= AGAIN and found.outside and no_pod_helps:
        less = "free the disk" if found.on_disk else "end what the host runs"
        used = "" if found.resource is None else f"{amount_text(found.outside, found.resource)} are used outside pods"
        shown = on_host(found)
        cause = "; ".join(filter(None, (f"{less} or lower the threshold: {used}", shown)))
        return _ToDo(f"{cause}; until then keep {found.event.owner} off this node")
    if mended := _mend_again(found):
        return _ToDo("; ".join(filter(None, (mended, _growing_text(found)))))
    if found.still_met and found.stands_still and no_pod_helps:
        return _ToDo(LOWER_THRESHOLD, _STILL_MET)
    if found.host_filled:
        return _ToDo("")
    if arriving := _of_arrivals(found):
        return _ToDo(arriving)
    too_little = found.settled and (found.came_back or 0) < (found.missing or 0)
    held_back = held_back_remedy(found) if found.still_met or too_little else ""
    growing = _of_overcommit(found) or _growing_text(found) or _went_later(found)
    if held_back and not found.still_met:
        return _ToDo("; ".join(filter(None, (growing, f"if it is short again, {held_back}"))))
    if not (held_back or growing) and found.still_met:
        return _of_unknown_cause(found)
    is_reason = held_back or (growing and found.protected_grower)
    return _ToDo("; ".join(filter(None, (held_back, growing))), still_short if is_reason else "")


def _mend_again(found: Incident) -> str:
    """Write to mend the owner whose pods go again and again, or what lets it make the node short; empty for neither."""
    if found.first is not None:
        return comes_again_text(found)
    needed = found.verdict is not None and found.verdict.need is Need.NEEDED
    again = found.of_owner >= (TWICE if found.own_cause else AGAIN)
    blamed = not (found.host_filled or held_by_page_cache(found) or only_others_grew(found))
    return mend_owner(found.event.owner, found.event.pod.partition("/")[0]) if again and needed and blamed else ""


def _growing_text(found: Incident) -> str:
    """Write which other pods grow, as measured last where that is known, and what to do about them; empty where none does."""
    return ("" if found.protected_grower else _grows_on_text(found)) or _still_growing(found) or _filled_before(found)


def _filled_before(found: Incident) -> str:
    """Write which other pod filled the PIDs before, had ceased to grow when this one went, and still runs; else empty."""
    pod, resource = found.main_grower, found.resource
    if resource is not Resource.PIDS or found.growers or not found.pods_filled:
        return ""
    if pod == found.event.pod or pod not in found.running:
        return ""
    protected = any(row.protected for row in found.ranking if row.pod == pod)
    remedy = remedy_of("ProtectedCulprit", resource, "it") if protected else _limit_or_end(resource, 1)
    return f"{pod} filled the PIDs before, and it still runs: {remedy}"


def _of_unknown_cause(found: Incident) -> _ToDo:
    """Return where to look while the node is short, no pod helps, and no reading shows what grew; empty otherwise."""
    verdict, shown = found.verdict, on_host(found)
    if (
        found.rate is not None
        or verdict is None
        or verdict.need is not Need.NO_POD_HELPS
        or found.event.filled
        or not shown
    ):
        return _ToDo("")
    return _ToDo(f"{look(found)}: {shown}; or {LOWER_THRESHOLD}", short_text(found))


def _of_arrivals(found: Incident) -> str:
    """Write what bounds the number of pods where only those that came filled the node; empty where nothing is known to."""
    victim, verdict = found.victim, found.verdict
    if verdict is None or found.relieved or not (came := found.arrivals.text):
        return ""
    if verdict.need is not Need.NOTHING_SHORT and not (verdict.need is Need.NEEDED and filled_by_arrivals(found)):
        return ""
    if victim is None or found.resource not in WITH_REQUEST or (victim.usage or 0) <= victim.request:
        return ""
    return f"{came}: let the pods request what they use, or lower maxPods of the kubelet, so that fewer are placed here"


def _still_growing(found: Incident) -> str:
    """Write which other pods grew and still run, beyond their request or protected; else empty."""
    resource, verdict = found.resource, found.verdict
    if resource is None or verdict is None or found.event.dry_run:
        return ""
    grower = verdict.grower
    if grower is not None and grower.pod in found.running - found.steady and grower.pod == found.protected_grower:
        grew = f"{grower.name} grew by {usage_text(grower_rate(found, grower), resource)} a second, and it still runs"
        remedy = remedy_of("ProtectedCulprit", resource, "it")
        if found.grower_in == CONTAINER_LOGS:
            remedy = remedy.replace("limit it", "rotate its logs (containerLogMaxSize of the kubelet)")
        return f"{grew}: {remedy}"
    names = [
        f"{each.name} grew by {usage_text(grower_rate(found, each), resource)} a second" for each in _grew_alike(found)
    ]
    runs = "it still runs" if len(names) == 1 else "they still run"
    return f"{first_of(names, _NAMED)}, and {runs}: {_limit_or_end(resource, len(names))}" if names else ""


def _growing(found: Incident) -> frozenset[str]:
    """Return the pods that `_still_growing` may name."""
    return frozenset({found.protected_grower, *(each.pod for each in _grew_alike(found))})


def _grew_alike(found: Incident) -> list[Grower]:
    """Return the other pods that grew and still run, beyond their request: what grew within it is no fault."""
    beyond = {row.pod for row in found.ranking if not row.protected and (row.usage or 0) > row.request}
    running = found.running & beyond - found.steady
    return [each for each in other_growers(found) if each.pod in running]


def _of_overcommit(found: Incident) -> str:
    """Write that more pods of one owner are here than fit, and which request changes that; empty where that is not the cause."""
    over = found.overcommit
    return "" if over is None else f"{over.cause}; to avoid more evictions, {over.remedy}"


def _went_later(found: Incident) -> str:
    """Write to mend what made most of the growth, exceeded its request then or later, and was evicted after this pod."""
    grower, resource = found.grower, found.resource
    beyond = {row.pod for row in found.ranking if not row.chosen and (row.usage or 0) > row.request}
    later = {each.pod: each for each in reversed(_evicted_later(found))}
    beyond |= {pod for pod, each in later.items() if exceeded_later(each)}
    growers = grew_together(found) if grower is None else (grower,) if grower.pod in beyond - {found.event.pod} else ()
    went = [each for each in growers if each.pod in later]
    if resource is None or not went:
        return ""
    rate = usage_text(sum(grower_rate(found, each) for each in went), resource)
    names = first_of([each.pod for each in went], _NAMED)
    mended = dict.fromkeys(_mend_text(found, later[each.pod]) for each in went)
    if len(mended) > 1:
        limit = "mend or limit" if resource in WITH_REQUEST else "mend"
        return f"{limit} {names}: they grew by {rate} a second together and were evicted after this pod"
    how = "together and were" if len(went) > 1 else "and was"
    return f"{next(iter(mended))}: {names} grew by {rate} a second {how} evicted after this pod"

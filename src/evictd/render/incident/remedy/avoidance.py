"""Says which setting would have avoided an eviction: a limit, a request, a priority; and which would not have."""

from collections.abc import Iterable
from dataclasses import replace

from evictd.core.model.finding import SkipReason
from evictd.core.model.signal import SIGNALS, WITH_REQUEST, Resource
from evictd.render.history.cause.recorded import IncidentRow, recorded_amount
from evictd.render.history.cause.suspects import suspects_text
from evictd.render.incident.cause.came_back import at_the_first
from evictd.render.incident.cause.earlier_step import earlier_step_remedy
from evictd.render.incident.cause.growers import (
    brought_forward_remedy,
    grew_beside_text,
    grew_together,
    grower_rate,
    larger_culprit,
    only_others_grew,
    other_growers,
    together_text,
)
from evictd.render.incident.cause.outside_pods import outside_pods_text
from evictd.render.incident.cause.overcommit import grown_together
from evictd.render.incident.cause.page_cache import formula_remedy, held_by_page_cache
from evictd.render.incident.cause.unknown_images import images_remedy
from evictd.render.incident.record.earlier import HeldThen
from evictd.render.incident.record.incident import CONTAINER_LOGS, Incident
from evictd.render.incident.record.verdict import Grower, Need
from evictd.render.incident.remedy.avoided import Avoidance, InVain, in_vain
from evictd.render.incident.remedy.count_limit import inodes_text, pids_limit_text
from evictd.render.incident.remedy.large_excess import excess_limit
from evictd.render.incident.remedy.limit_remedy import (
    grower_limit,
    limit_avoidance,
    rotation_text,
)
from evictd.render.incident.remedy.priority_remedy import first_that_lasts, priority_text
from evictd.render.incident.remedy.request_remedy import COULD_GO, request_avoidance, resize_in_vain, resize_remedy
from evictd.render.incident.remedy.shared_limits import SharedLimits, shared_limits
from evictd.render.incident.remedy.soft_threshold import soft_threshold_avoidance
from evictd.render.incident.remedy.within_limit import within_limit
from evictd.render.status.owners import AGAIN
from evictd.render.text import amount_text, counted, first_of, seconds_text, usage_text

_NAMED = 3
"""How many pods that grew are named."""
_OUTSIDE: dict[Resource | None, str] = {
    Resource.MEMORY: ": by processes of the host, or by the kernel itself",
    Resource.EPHEMERAL_STORAGE: ": in hostPath volumes, by the host, by images and snapshots, or by deleted files that are open",
    Resource.INODES: ": by files in hostPath volumes or of the host",
    Resource.PIDS: ": by processes of the host",
}
_BYTES = Resource.EPHEMERAL_STORAGE
"""What limits of the pods themselves count."""
_SMALLER_RECLAIM = (
    "a smaller minimum reclaim: fewer pods would have gone, because the threshold itself was clear already"
)


def avoidance(found: Incident) -> Avoidance:
    """Return what would have avoided this eviction.

    The journal shows the cycle of the eviction and what really came after it. With another setting that cycle is known, so a
    sentence says what would have happened at that moment, and of the time after it only on a condition that it names.
    """
    if found.signal is None:
        return Avoidance(by=(_own_limit_text(found),))
    if found.first is not None:
        return at_the_first(found.first, avoidance(found.first))
    resource, shared = SIGNALS[found.signal].resource, shared_limits(found)
    if found.need is Need.NO_POD_HELPS and not found.relieved:
        return _of_no_pod(found, resource, shared) + soft_threshold_avoidance(found, resource)
    if found.kept_by_min_reclaim and found.met_by_itself is None:
        return Avoidance(by=(_SMALLER_RECLAIM,))
    of_pod = Avoidance() if found.victim is None else _of_pod(found, found.victim, resource, shared)
    around = _of_owner(found) + _of_host(found) + _of_grower(found, resource, shared)
    others = Avoidance(
        by=(*resize_remedy(found), *images_remedy(found), *earlier_step_remedy(found)),
        in_vain=tuple(InVain(text=each) for each in resize_in_vain(found)),
    )
    others = excess_limit(found) + others
    avoided = (
        around
        + of_pod
        + others
        + _of_budget(found)
        + _of_reclaim(found, resource)
        + soft_threshold_avoidance(found, resource)
    )
    if avoided.by:
        return avoided
    if (grew := _of_all_that_grew(found, resource)).by:
        return grew + avoided
    outside = outside_pods_text(found) if _nothing_grew(found) else ""
    return Avoidance(by=(f"{_host_text(found)}; {outside}",) if outside else ()) + avoided


def _nothing_grew(found: Incident) -> bool:
    """Whether no pod is known to have grown: else less use outside pods had only delayed the eviction."""
    return found.verdict is not None and not found.growers and not found.pods_filled


def _own_limit_text(found: Incident) -> str:
    """Write what would have kept a pod within a limit of its own, with what it used where the record has that."""
    used, limit = (recorded_amount(found.event.because.get(each)) for each in ("usage", "limit"))
    known = used is not None and limit is not None
    held = f"it used {usage_text(used or 0, _BYTES)} with a limit of {amount_text(limit, _BYTES)}; " if known else ""
    return f"less usage, or a higher limit of its own, which growth reaches later: {held}no other pod had a part in it"


def _of_all_that_grew(found: Incident, resource: Resource) -> Avoidance:
    """Say that all that grew has to grow less where no setting of one of them avoids it; nothing where one alone grew."""
    growers = () if found.verdict is None or not found.pod_grew else found.verdict.notable
    if not growers[1:]:
        return Avoidance()
    rate = amount_text(sum(grower_rate(found, each) for each in growers), resource)
    names = first_of([each.pod or "what belongs to no pod" for each in growers], _NAMED)
    less = f"less growth of all that grew: {names}, {rate} a second together"
    return Avoidance(by=(less, *_for_fewer_here(found)))


def _for_fewer_here(found: Incident) -> tuple[str, ...]:
    """Return the request with which fewer pods of an owner are placed here, where only these grew and they are no leak."""
    over = grown_together(found)
    return () if over is None else (f"if they need so much: {over.remedy}",)


def _of_budget(found: Incident) -> Avoidance:
    """Say which pod a budget kept, where this one went instead; and that its own put the eviction off and did not prevent it."""
    rows = (row for row in found.ranking if row.skipped == SkipReason.BUDGET.value)
    kept = [row.pod for row in rows if (row.usage or 0) >= (found.missing or 0)][:1]
    spared = "its eviction was refused, and this pod went in its place"
    by = tuple(f"a disruption budget that lets {pod} go, which ranks before this pod: {spared}" for pod in kept)
    if not found.refusals:
        return Avoidance(by=by)
    times = counted(found.refusals, "time")
    return Avoidance(by=by) + in_vain(f"a disruption budget: it refused the eviction {times}, which only delayed it")


def _of_reclaim(found: Incident, resource: Resource) -> Avoidance:
    """Say that without its minimum reclaim a threshold would have been met by itself soon, at the rate of the fall."""
    if (seconds := found.met_by_itself) is None:
        return Avoidance()
    fell = f"at {amount_text(found.rate or 0, resource)} a second the threshold itself would have been met"
    return in_vain(f"a smaller minimum reclaim: {fell} {seconds_text(seconds)} later")


def _of_no_pod(found: Incident, resource: Resource, shared: SharedLimits) -> Avoidance:
    """Say what helps where no end of any pod does. A full disk no longer grows, so what filled it before counts."""
    rows = (row for row in found.ranking if not (row.protected or row.chosen) and row.usage and row.skipped in COULD_GO)
    instead = next((f"{row.pod} ({usage_text(row.usage or 0, resource)})" for row in rows), "")
    alone = " alone" if grew_beside_text(found) else ""
    own = f"a request, a limit or a priority of this pod{alone}" + (
        f" that keeps it: {instead} would have gone in its place then, and by what was measured not relieved the node either"
        if instead
        else ": what is missing is not its own"
    )
    protected = any(row.protected and row.usage for row in found.ranking)
    if found.protected_grower and not found.host_filled:
        return _of_grower(found, resource, shared) + in_vain(own, moves=bool(instead))
    by = _host_text(found) + ("; or less use by protected pods" if protected and not found.host_filled else "")
    if found.stands_still:
        by = "a lower threshold: nothing grew, and no pod holds what is missing"
    elif found.rate is None and not found.event.filled:
        by += "; or a lower threshold: what grew is not known yet"
    return Avoidance(by=(by,)) + in_vain(own, moves=bool(instead))


def _of_host(found: Incident) -> Avoidance:
    """Say that the host has to use less where what filled the supply belongs to no pod."""
    if not found.host_filled or held_by_page_cache(found):
        return Avoidance()
    return Avoidance(by=(_host_text(found),))


def _host_text(found: Incident) -> str:
    suspected = suspects_text(found.suspects) if found.host_filled else ""
    return f"less use outside pods{_OUTSIDE.get(found.resource, '')}" + (f"; {suspected}" if suspected else "")


def _of_grower(found: Incident, resource: Resource, shared: SharedLimits) -> Avoidance:
    """Return the pod whose growth made the node short, where that is another one: within its request if both were."""
    grower = found.grower
    if (over := found.overcommit) is not None:
        return Avoidance(by=(over.remedy,))
    limits = shared.text(resource)
    if together := together_text(found):
        return Avoidance(by=("; ".join(filter(None, (f"less growth of {together}", limits))),))
    if grower is None:
        return _of_filler(found, resource)
    if not grower.pod or grower.pod == found.event.pod:
        return Avoidance()
    if later := brought_forward_remedy(found):
        return in_vain(later)
    row = next((each for each in found.ranking if each.pod == grower.pod), None)
    if row is not None and resource in WITH_REQUEST and (row.usage or 0) <= row.request:
        return within_limit(found) if found.within_request is not None else _of_growth(found, row, resource)
    rotation = (rotation_text(grower_rate(found, grower)),) if found.grower_in == CONTAINER_LOGS else ()
    limit = Avoidance() if rotation or held_by_page_cache(found) else grower_limit(found, grower, shared, resource)
    counted_by = (pids_limit_text(found, grower.pod),) if resource is Resource.PIDS else ()
    if resource is Resource.INODES and other_growers(found) == (grower,) and not found.pod_grew:
        counted_by = (inodes_text(found, grower.pod),)
    less = "; ".join((_less_growth(found, grower, shared.pods, resource), *limit.by, *counted_by))
    larger = () if limits else larger_culprit(found)
    return replace(limit, by=(*larger, less, *rotation))


def _of_filler(found: Incident, resource: Resource) -> Avoidance:
    """Return another pod that filled the supply of processes before, and had ceased to grow when this one went."""
    if resource is not Resource.PIDS or found.growers or not found.pods_filled:
        return Avoidance()
    if found.main_grower in {"", found.event.pod}:
        return Avoidance()
    limit = pids_limit_text(found, found.main_grower)
    return Avoidance(by=(f"fewer processes of {found.main_grower}, which filled the PIDs before; {limit}",))


def _less_growth(found: Incident, grower: Grower, together: Iterable[HeldThen], resource: Resource) -> str:
    """Write whose growth made the node short, and by how much a second: with that of the evicted pod where it grew as well.

    Where that did not grow, with the others of the pods `together`: only limits of all of them would have avoided the eviction.
    """
    fast = grower_rate(found, grower)
    before = "the minute before" if found.verdict is None else found.verdict.before
    which = f"{grower.pod}, which is never evicted" if found.protected_grower else grower.pod
    own = next((each for each in found.growers if each.pod == found.event.pod and found.pod_grew), None)
    others = {each.pod for each in together} - {grower.pod}
    beside = [own] if own is not None else [each for each in other_growers(found) if each.pod in others]
    if not beside:
        return f"less growth of {which}: it took {amount_text(fast, resource)} a second in {before}"
    all_of_it = amount_text(fast + sum(grower_rate(found, each) for each in beside), resource)
    names = " and ".join((which, first_of([each.pod for each in beside], _NAMED)))
    return f"less growth of {names}: they took {all_of_it} a second together in {before}"


def _of_owner(found: Incident) -> Avoidance:
    """Say that the owner has to be changed where its pods go again and again."""
    if (
        found.verdict is None
        or found.of_owner < AGAIN
        or found.host_filled
        or only_others_grew(found)
        or grew_together(found)
    ):
        return Avoidance()
    mended = f"{found.event.owner} mended or kept off this node"
    return Avoidance(by=(f"{mended}: {found.of_owner} of its pods were evicted here", *_for_fewer_here(found)))


def _of_pod(found: Incident, victim: IncidentRow, resource: Resource, shared: SharedLimits) -> Avoidance:
    exceeds = victim.usage is not None and resource in WITH_REQUEST and victim.usage > victim.request
    limit = formula_remedy(found)
    if limit.by:
        return limit
    grew = (
        found.verdict is None or found.verdict.may_have_grown or (found.pods_filled and found.main_grower == victim.pod)
    )
    bounded = limit if limit.in_vain else limit_avoidance(found, victim, resource, shared)
    if exceeds and grew:
        limit = bounded  # one that does not grow would have met its limit long before
    if exceeds:
        return limit + request_avoidance(found, victim, resource) + _of_priority_beyond(found, victim, resource)
    if found.host_filled:
        return limit  # another pod would have gone in its place
    if found.pod_grew:
        limit = _of_growth(found, victim, resource) + bounded
        if found.verdict is None or not found.verdict.grower_suffices:
            return limit
    priority, advised = priority_text(found, victim, resource)
    if not priority:
        return limit
    return limit + (Avoidance(by=(priority,)) if advised else in_vain(priority, moves=True))


def _of_priority_beyond(found: Incident, victim: IncidentRow, resource: Resource) -> Avoidance:
    """Say which priority would have ranked a pod that exceeds its request behind one that does, too, and grew."""
    first = None if found.pod_grew or found.host_filled else first_that_lasts(found)
    if first is None or (first.usage or 0) <= first.request:
        return Avoidance()
    priority, advised = priority_text(found, victim, resource)
    return Avoidance(by=(priority,) if priority and advised else ())


def _of_growth(found: Incident, grower: IncidentRow, resource: Resource) -> Avoidance:
    """Say what bounds a pod that grew within its request, or where none counts what is short."""
    if resource is Resource.PIDS:
        return Avoidance(by=(pids_limit_text(found, grower.pod),))
    if resource is Resource.INODES:
        return Avoidance(by=(inodes_text(found, grower.pod),))
    return Avoidance(by=(f"less growth of {grower.pod}, or less use by others: it was within its request",))

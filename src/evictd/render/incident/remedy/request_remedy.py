"""Says what a request of what the pod used, or of all pods of its owner, would have done: which pod goes then, if any."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from evictd.core.eviction.laws.shortage import EVICTION_TIME
from evictd.core.model.finding import SkipReason
from evictd.core.model.signal import Resource
from evictd.core.units.duration import SECOND
from evictd.render.attribution import clock_text
from evictd.render.history.cause.recorded import IncidentRow, recorded_amount
from evictd.render.history.history import HistoryEvent
from evictd.render.incident.cause.growers import grew_together, grower_rate
from evictd.render.incident.record.incident import Incident
from evictd.render.incident.remedy.avoided import Avoidance, in_vain
from evictd.render.incident.remedy.large_excess import protected_excess_text
from evictd.render.incident.remedy.soft_threshold import LEAD_SECONDS
from evictd.render.text import amount_text, enough_text, usage_text

_NOT_ALL_PLACED = ", so not all of them would be placed on it"
_NO_POD = "evictd would have ended no pod at that moment"
COULD_GO = {"", SkipReason.UNNECESSARY.value, SkipReason.EVICTIONS_PAUSED.value}
"""What the ranking says of pods that could have gone in its place."""
_OTHERS = "the other pods above their requests"
_NO_OTHER = "no other pod exceeded its request"


def request_avoidance(found: Incident, victim: IncidentRow, resource: Resource) -> Avoidance:
    """Say what a request of its usage would have done, and of an owner with several pods that others of it are not counted."""
    if found.with_request in found.siblings and found.overcommit is not None:
        return Avoidance()  # the request of all of them is proposed
    said = _of_request(found, victim, resource)
    if not (found.siblings or found.of_owner > 1):
        return said
    here = _this_node(found)
    if not said.by:
        return Avoidance(in_vain=tuple(replace(each, text=f"{each.text}{here}") for each in said.in_vain))
    return replace(said, by=tuple(f"{each}{here}" for each in said.by))


def _this_node(found: Incident) -> str:
    """Write that the journal has the owner's pods of one node only: on another node the same request may do something else."""
    return f"; computed from the pods of this node alone: those of {found.event.owner} elsewhere would have that request too"


def _of_request(found: Incident, victim: IncidentRow, resource: Resource) -> Avoidance:
    """Say what a request of its usage would have done, where the decision was made again with it."""
    if found.with_request is None or victim.usage is None:
        return Avoidance()
    had = amount_text(victim.request, resource) if victim.request else "none"
    request = f"a request of {enough_text(victim.usage, resource)} of {resource.value} (it had {had})"
    if found.first_asked is not None:
        return _of_first_request(found, found.first_asked, request, resource)
    if found.with_request == victim.pod:
        whole, too_much = requested_with(found, lambda row: row.chosen)
        same = f"{request}: it would have gone all the same, because {why_the_same(found, victim, resource)}"
        same += _with_more(found, resource)
        if too_much and not (found.verdict is None or found.verdict.grew):
            same += f"; only the scheduler could have avoided that: {whole}{_NOT_ALL_PLACED}"
        return in_vain(same)
    if not found.with_request:
        return in_vain(f"{request}: {no_pod_then(found, resource)}")
    if found.with_request in found.siblings:
        same = f"{request}: {found.with_request} of the same owner would have gone in its place then"
        every, higher = owner_request_text(found, resource), higher_than_owner_text(found, resource)
        if not every and (instead := _went_instead(found, resource)):
            return in_vain(instead, moves=True)
        return Avoidance(by=(every,) if every else ()) + in_vain(f"{same}{higher}", moves=True)
    row = next((row for row in found.ranking if row.pod == found.with_request), None)
    other = in_its_place(found.with_request, found.ranking, resource)
    if too_little := first_too_little(found):
        return in_vain(f"{request}: {other} would have gone first then, {too_little}")
    higher = f", whose priority {row.priority} is higher" if row is not None and row.priority > victim.priority else ""
    went = f"{request}: {other} would have gone in its place then{higher}"
    if grew_instead(found):
        return Avoidance(by=(f"{went}; it is the one that grew",))
    if found.with_request in {each.pod for each in grew_together(found)}:
        return Avoidance(by=(f"{went}; it is one of those that grew",))
    again = "; had this pod grown on, the node would have been short again" if found.pod_grew and not higher else ""
    return in_vain(f"{went}{again}", moves=True)


def tenth_of_usage(found: Incident) -> int:
    """Return a tenth of what the evicted pod used: a request with so much more lets it grow a little."""
    return 0 if found.victim is None else (found.victim.usage or 0) // 10


def _with_more(found: Incident, resource: Resource) -> str:
    """Write what a tenth more would have done, as a clause; empty where the pod would have gone all the same, or not known."""
    if found.with_more is None or found.with_more == found.event.pod:
        return ""
    if not found.with_more:
        return "; with a tenth more, evictd would have ended no pod at that moment"
    return f"; with a tenth more, {in_its_place(found.with_more, found.ranking, resource)} would have gone in its place"


def _of_first_request(found: Incident, asked: HistoryEvent, request: str, resource: Resource) -> Avoidance:
    """Say which pod would have gone when the eviction was first asked for and refused: the pod held less then."""
    held = recorded_amount(asked.because.get("usage"))
    holding = "" if held is None else f" and it held {amount_text(held, resource)}"
    when = f"at {clock_text(asked.at)}, when evictd asked to evict this pod{holding}"
    if not found.with_request:
        return in_vain(f"{request}: evictd would have ended no pod {when}; what would have come then is not known")
    went = f"{request}: {found.with_request} would have gone in its place {when}"
    if grew_instead(found):
        return Avoidance(by=(f"{went}; it is the one that grew",))
    again = "; had this pod grown on, the node would have been short again" if found.pod_grew else ""
    return in_vain(f"{went}{again}", moves=True)


def requested_with(found: Incident, raised: Callable[[IncidentRow], bool]) -> tuple[str, bool]:
    """Return what the pods would request of the node, had the raised ones requested what they use; and whether it is too much.

    A pod that uses less than it requests keeps its request. The text is empty where the size of the node is not known, or where
    the journal has only some of the pods and these fit.
    """
    if found.resource is not Resource.MEMORY or found.capacity is None:
        return "", False
    requested = sum(max(row.usage or 0, row.request) if raised(row) else row.request for row in found.ranking)
    too_much = requested > found.capacity
    if not too_much and found.pods > len(found.ranking):
        return "", False
    whole = f"{amount_text(requested, found.resource)} of the {amount_text(found.capacity, found.resource)} of the node"
    return f"the pods here would request {whole}", too_much


def owner_request_text(found: Incident, resource: Resource) -> str:
    """Write what requests of the whole owner would have avoided; empty where they would not, or where that is not known."""
    whole, too_much = requested_with(found, lambda row: row.chosen or row.pod in found.siblings)
    if too_much:
        return f"{_every(found)}: {whole}{_NOT_ALL_PLACED}"
    other = _in_place_of_all(found)
    if other is None or found.pod_grew:  # it would have exceeded that request soon
        return ""
    if found.grower is None or found.grower.pod != other.pod:
        return ""  # it would only have been another pod that did not grow
    higher = f", whose priority {other.priority} is higher" if _is_higher(found, other) else ""
    return f"{_went(found, other, resource)}{higher}; it is the one that grew"


def _every(found: Incident) -> str:
    return f"a request of what they use in all pods of {found.event.owner}"


def _went(found: Incident, other: IncidentRow, resource: Resource) -> str:
    return f"{_every(found)}: {other.pod} ({amount_text(other.usage, resource)}) would have gone in its place then"


def _went_instead(found: Incident, resource: Resource) -> str:
    """Write which pod goes first with requests of the whole owner; empty for none, or for one of higher priority."""
    other = _in_place_of_all(found)
    if other is None or _is_higher(found, other):
        return ""
    again = "; had they grown on, the node would have been short again" if found.pod_grew else ""
    return f"{_went(found, other, resource)}{again}"


def higher_than_owner_text(found: Incident, resource: Resource) -> str:
    """Write, as a clause, which pod of higher priority would have gone had the whole owner requested it; empty for none."""
    other = _in_place_of_all(found)
    if other is None or not _is_higher(found, other) or owner_request_text(found, resource):
        return ""
    instead = f"{other.pod} ({amount_text(other.usage, resource)}), whose priority {other.priority} is higher"
    return f"; with that of all pods of {found.event.owner}, {instead}"


def _in_place_of_all(found: Incident) -> IncidentRow | None:
    """Return the pod of another owner that would have gone with requests of the whole owner; `None` where it is not known."""
    other = next((row for row in found.ranking if row.pod == found.with_owner_request), None)
    if found.victim is None or other is None or other.chosen or other.pod in found.siblings:
        return None
    return other


def _is_higher(found: Incident, other: IncidentRow) -> bool:
    return found.victim is not None and other.priority > found.victim.priority


def grew_instead(found: Incident) -> bool:
    """Whether with a request of what the evicted pod used the pod that grew most would have gone.

    Where the evicted pod grew as well, the end of that one has to relieve the node.
    """
    verdict = found.verdict
    if verdict is None or verdict.grower is None or (verdict.grew and not verdict.grower_suffices):
        return False
    return bool(verdict.grower.pod) and verdict.grower.pod == found.with_request


def in_its_place(pod: str, ranking: Sequence[IncidentRow], resource: Resource) -> str:
    """Return a pod, `namespace/name`, with what it uses, and with the first pod before it, which would have been passed over.

    The ranking is that of the real decision, whose evicted pod is left out: the order of the others is the same.
    """
    row = next((row for row in ranking if row.pod == pod), None)
    if row is None:
        return pod
    used = amount_text(row.usage, resource)
    first = next((each for each in ranking if not (each.protected or each.chosen or each.skipped)), row)
    if first.number >= row.number:
        return f"{pod} ({used})"
    return f"{pod} ({used}; {first.pod}, which ranks before it, would have been passed over)"


def first_too_little(found: Incident) -> str:
    """Return why the end of all other pods above their requests would not have been enough; empty where it would.

    It would not where they hold less than other pods grow by in the next minute.
    """
    others = [each for each in found.ranking if _may_go_first(each)]
    held = sum(each.usage or 0 for each in others)
    if found.missing is None or found.resource is None or not others:
        return ""
    if held < found.missing:
        return "and that is too little"
    growers = found.growers
    names = {each.pod for each in others}
    grown = sum(each.rate for each in growers if each.pod and each.pod not in names) * LEAD_SECONDS
    if held < found.missing + grown:
        together, more = usage_text(held, found.resource), usage_text(grown, found.resource)
        return f"which is not enough: all pods above their requests hold {together}, and other pods grow by {more} in a minute"
    return ""


def _may_go_first(row: IncidentRow) -> bool:
    return not row.protected and not row.chosen and (row.usage or 0) > row.request


def no_pod_then(found: Incident, resource: Resource) -> str:
    """Write what would have come then: a pod that grows passes any request, and may go at once when it does."""
    verdict = found.verdict
    if verdict is None or not verdict.grew:
        return f"{_NO_POD}; which one it would have ended later is not known"
    own = next((each for each in verdict.growers if each.pod == found.event.pod), None)
    if not found.past_request or own is None:
        return f"{_NO_POD}; had it grown on, it would have gone all the same later"
    rate = amount_text(grower_rate(found, own), resource)
    return f"it would have gone all the same, within a second, because it grew past that request at {rate} a second"


def why_the_same(found: Incident, victim: IncidentRow, resource: Resource) -> str:
    """Write why the decision takes the same pod again where it requests what it used.

    It then ranks behind the pods that exceed their requests, and goes before them only where they hold too little (law Need).
    """
    rows = (row for row in found.ranking if not (row.chosen or row.protected) and row.skipped in COULD_GO)
    others = [row for row in rows if row.usage]
    if not others:
        return "no other pod that could go held any of it"
    exceeding = [row for row in others if (row.usage or 0) > row.request]
    if exceeding:
        return _too_little(_OTHERS, found, exceeding, resource)
    lower = [row for row in others if row.priority < victim.priority]
    no_other = _NO_OTHER
    if protected := protected_excess_text(found):
        no_other = f"no other pod that may go exceeded its request ({protected})"
    if lower:
        return f"{no_other}; " + _too_little("those of lower priority", found, lower, resource)
    return f"{no_other} and none had a lower priority"


def _too_little(pods: str, found: Incident, rows: Sequence[IncidentRow], resource: Resource) -> str:
    held, missing = sum(row.usage or 0 for row in rows), found.missing
    unknown = f"the end of {pods} would not have been enough"
    if missing is None or found.pods > len(found.ranking):
        return unknown
    less = f"{pods} held {amount_text(held, resource)} together, less than the {amount_text(missing, resource)} that was missing"
    if held < missing:
        return less
    seconds, rate = EVICTION_TIME // SECOND * len(rows), found.rate or 0
    if held >= missing + rate * seconds:
        return unknown
    evictions = "an eviction" if len(rows) == 1 else f"{len(rows)} evictions"
    more = amount_text(held - missing, resource)
    lasts = f"that lasts less than {(held - missing) // rate + 1} s at {amount_text(rate, resource)} a second"
    together = f"{pods} held {amount_text(held, resource)} together, {more} more than was missing"
    return f"{together}; {lasts}, and {evictions} may take {seconds} s"


def resize_remedy(found: Incident) -> tuple[str, ...]:
    """Write how the pod gets the memory that it asked for; empty without a resize, or where it used more than it asked for."""
    victim = found.victim
    if not found.asked or victim is None or victim.usage is None or victim.usage > found.asked:
        return ()
    asked = amount_text(found.asked, Resource.MEMORY)
    remedy = f"if it needs {asked} of memory, a new pod with that request in place of the resize"
    placed = "the scheduler places it where so much is free"
    requested = sum(found.asked if row.chosen else row.request for row in found.ranking)
    if found.capacity is not None and requested > found.capacity:
        of = f"{amount_text(requested, Resource.MEMORY)} of the {amount_text(found.capacity, Resource.MEMORY)} of this node"
        return (f"{remedy}: {placed}; with it the pods here would request {of}, so the kubelet cannot grant it here",)
    return (f"{remedy}: {placed}; its condition PodResizePending says why the kubelet did not grant it here",)


def resize_in_vain(found: Incident) -> tuple[str, ...]:
    """Write that a granted resize would not have been enough; empty without a resize, or where it would have been."""
    victim = found.victim
    if not found.asked or victim is None or victim.usage is None or victim.usage <= found.asked:
        return ()
    asked, used = (amount_text(each, Resource.MEMORY) for each in (found.asked, victim.usage))
    return (f"its resize to {asked} of memory granted: it used {used}, which is more",)

"""Says whether the end of the evicted pod was needed, beside what the journal shows of the time after; or why that is not known.

`EvictionVerdict` judges by what was measured before; this module holds that against what came.
"""

from dataclasses import replace

from evictd.core.model.amount_text import amount_with
from evictd.core.model.signal import SIGNALS
from evictd.core.units.quantity import of_count
from evictd.render.incident.cause.growers import grew_beside_text
from evictd.render.incident.cause.page_cache import formula_remedy
from evictd.render.incident.cause.unknown_images import unknown_images_text
from evictd.render.incident.record.incident import Incident
from evictd.render.incident.record.verdict import UNKNOWN_NEED, Need, NotJudged
from evictd.render.incident.relief.relief import went_for_reclaim
from evictd.render.incident.remedy.soft_threshold import above_hard_text, went_for_soft
from evictd.render.incident.summary import within_text
from evictd.render.text import first_of, signal_amount

OWN_LIMIT = "its end was needed for a limit of its own, however much was left on the node"
_NAMED = 3
"""How many pods are named that grew no more."""
_NOT_JUDGED = {
    NotJudged.UNREADABLE: "the record of its cycle cannot be read whole",
    NotJudged.NOT_KEPT: "a journal on standard input is read once only, so the cycle is not decided again",
    NotJudged.UNMEASURED: "pods may have taken what filled it since they were last measured",
    NotJudged.NO_HOLDINGS: "its record does not show what each pod took",
}


def verdict_text(found: Incident) -> str:
    """Write whether the end of the pod was needed, or why that is not known; of a dry run with the reclaim that came before."""
    text = _verdict_text(found)
    return f"{text}; it was not if the reclaim before would have freed enough" if found.event.unless_reclaim else text


def _verdict_text(found: Incident) -> str:
    if found.signal is None:
        return OWN_LIMIT
    if found.verdict is None:
        return f"{UNKNOWN_NEED}{_NOT_JUDGED[found.not_judged]}"
    if found.verdict.need is Need.NEEDED and formula_remedy(found).by:
        return "its end was needed only because memory.formula counts page cache, which the kernel can drop"
    if found.need is Need.ANOTHER_POD and found.relieved and (row := found.within_request) is not None:
        needed = f"its end or that of {', '.join(found.verdict.fewest)} was needed, and it relieved the node"
        return f"{needed}; {row.pod} grew {within_text(found)}"
    if found.need is Need.ANOTHER_POD and (over := found.overcommit) is not None:
        grew = "what grew holds no more than others of them"
        return f"the end of one of them was needed: {over.cause}; {grew}"
    if unknown := unknown_images_text(found):
        return unknown
    if found.held_unmeasured:
        came_back = signal_amount(found.came_back or 0, found.signal)
        held = f"was not measured; up to {came_back} came back with its end, so it held what was missing"
        return f"its end was needed: {found.event.pod} {held}"
    too_little = found.settled and found.came_back is not None and found.came_back < (found.missing or 0)
    need = Need.FOR_A_TIME if _grew_beside(found) else found.need
    verdict = replace(found.verdict, need=need or found.verdict.need)
    if verdict.need is Need.NOTHING_SHORT and (came := found.arrivals.text):
        return f"{UNKNOWN_NEED}{verdict.nothing_short}; {came}"
    text = verdict.text(
        relieved=found.relieved_as_judged if verdict.need is Need.ANOTHER_POD else found.relieved,
        too_little=too_little,
        filled=not found.stands_still,
        cause=_cause(found, verdict.need),
        for_reclaim=bool(went_for_reclaim(found)),
        files_stay=bool(found.suspects) and found.host_filled,
        for_soft=went_for_soft(found),
    )
    if verdict.need is Need.NEEDED:
        return "; ".join(filter(None, (text, above_hard_text(found), _steady_text(found))))
    return text


def _grew_beside(found: Incident) -> bool:
    """Whether no end of any pod relieves the node, and the pod is named as a cause beside what belongs to no pod."""
    no_pod = found.need is Need.NO_POD_HELPS and not found.relieved
    return no_pod and any(not each.pod for each in found.growers) and bool(grew_beside_text(found))


def _growers_text(found: Incident) -> str:
    return first_of([each.pod or "what belongs to no pod" for each in found.growers], _NAMED)


def _cause(found: Incident, need: Need) -> str:
    """Return what filled the supply beside, or in place of, pods that may go."""
    outside = ("the host", "a hostPath volume") if found.on_disk else ("the host",)
    if found.pods_grew_too or _grew_beside(found):
        return _growers_text(found)
    if need is Need.FOR_A_TIME:
        return " or ".join(outside)
    if found.protected_grower:
        return f"{found.protected_grower}, which is never evicted,"
    return f"{', '.join(outside)} or a protected pod"


def _steady_text(found: Incident) -> str:
    """Write what was missing after its end where the others that grew do so no more; empty where one may, or nothing was."""
    others = (each.pod for each in found.growers if each.pod != found.event.pod)
    still = (found.missing or 0) - (found.came_back or 0)
    if found.signal is None or not found.steady or not found.steady.issuperset(others) or still <= 0 or found.relieved:
        return ""
    missing = amount_with(of_count(still), SIGNALS[found.signal].resource, "was", "were")
    return f"{first_of(sorted(found.steady), _NAMED)} grew no more afterwards, and {missing} missing then"

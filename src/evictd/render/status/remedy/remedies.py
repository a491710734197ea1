"""Says what a person can do about a shortage, from the document of `/statusz`, for the page and `evictd status`.

What helps depends on the reason for which no pod is evicted and on who took what is short. Commands stand between backticks.
Faults of evictd itself come first (`own_faults`).
"""

import errno
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from evictd.core.model.signal import DISKS, SIGNALS, Resource, Signal
from evictd.errors import ROOT_DIR_REMEDY, SourceKind
from evictd.render.status.leaving_pods import (
    are_enough,
    awaited_pods,
    is_overdue,
    is_too_little,
    leaves,
    may_have_grown,
)
from evictd.render.status.own_faults import FAULT_REMEDIES, OwnFaultKind, faults_of, tests_thresholds
from evictd.render.status.owners import owner_remedies, owner_remedy
from evictd.render.status.proposed import asked_remedy, budget_remedy
from evictd.render.status.remedy.file_pages import fills_with_pages
from evictd.render.status.remedy.grower_remedies import about_grower, several_grew
from evictd.render.status.remedy.own_limits_text import own_limit_is_first, own_limit_remedy
from evictd.render.status.remedy.unused_images import before_pods
from evictd.render.status.remedy_texts import (
    LOOK_AT_BUDGETS,
    LOWER_THRESHOLD,
    NO_POD_MEASURED,
    OUTSIDE_PODS,
    PAGE_CACHE,
    REMEDIES,
    host_path_remedy,
    limit_remedy,
    of_culprit,
    remedy_of,
)
from evictd.render.status.signal_entry import is_due, is_pressed, missing, shown_entries, supply_name
from evictd.render.status.stopped import is_guarded_by_budget, passes_over_budget
from evictd.render.status.times.timing import approaches, as_before, graces
from evictd.render.status.times.unread_since import unread_remedy
from evictd.render.status.unguarded import unguarded_remedy
from evictd.render.text import clean, first_of

Document = Mapping[str, Any]

_MISSING = os.strerror(errno.ENOENT)
_NAMED = 3
_LITTLE = 10
"""A pod that grew by less than this part of what is missing is no cause of it."""
_OVERDUE = (
    "look why {pods} {verb} not end: a process in uninterruptible sleep cannot be killed (state D in `ps -eo stat,pid,args`: "
    "a disk or an NFS server does not answer), or the runtime does not stop it (`journalctl --unit containerd`, or crio)"
)
_KEEP_BUDGET = "to keep the pod, set `podTermination: EvictionAPI`, with which the budget holds"
_RECLAIMING = "Reclaiming"
_NO_GROWTH: Document = {"arrived": None, "pods": (), "ofPods": 0, "elsewhere": None}
_MAKE_ROOT_DIR = f"without a kubelet, {ROOT_DIR_REMEDY}"
_END_DRY_RUN = (
    "to let evictd evict, set `dryRun: false` in its configuration file and reload it (`systemctl reload evictd`; with Helm "
    "in the values file, then upgrade)"
)


def to_do(status: Document) -> str:
    """Return what a person can do about the gravest fault of evictd and about shortages, as one sentence; empty for nothing."""
    faults = faults_of(status)
    of_fault = [FAULT_REMEDIES[faults[0]]] if faults else []
    if faults[:1] == [OwnFaultKind.NODE] and not status["problems"]:
        of_fault = ["look at evictd's log: no reading was reported as a problem"]
    return "; ".join((*of_fault, *(remedies(status) if tests_thresholds(faults) else ())))


def remedies(status: Document) -> list[str]:
    """Return what to do about the signals that are short or will be soon, as clauses; empty where nothing is to do."""
    entries = [entry for entry in shown_entries(status) if entry["observed"]]
    of_owners = [] if any(map(grew_elsewhere, entries)) else owner_remedies(status)
    supplies: dict[str, list[str]] = {}  # of which each text is
    for entry in entries:
        for text in _remedies(entry, status["leaving"], mended=bool(of_owners)):
            supplies.setdefault(text, []).append(supply_name(entry))
    of_limit = own_limit_remedy(status)
    first = of_limit if own_limit_is_first(status) else ""
    found = dict.fromkeys(filter(None, (first, *unguarded_remedy(status), *_of_overdue(status), *of_owners, *supplies)))
    if of_budget := asked_remedy(status):
        found = dict.fromkeys((of_budget, *(text for text in found if LOOK_AT_BUDGETS not in text)))
    elif any(row["refusals"] for row in status["asked"]) and not any(LOOK_AT_BUDGETS in each for each in found):
        found[LOOK_AT_BUDGETS] = None
    if passes_over_budget(status):
        found[_KEEP_BUDGET] = None
    if (
        status["dryRun"]
        and status["pods"] is not None
        and (due := [entry for entry in status["signals"] if is_due(entry)])
    ):
        found[f"{_END_DRY_RUN}{_goes_at_once(due)}"] = None
    said = set[str]()  # about the first pods of now, which several entries may have in common
    for entry in _open(status):
        (remedy, keeps), outside = _before(entry, status), outside_pods(entry)
        if _is_named(entry, found, status):
            continue
        if remedy and not grew_elsewhere(entry) and not (outside in remedy and any(outside in each for each in found)):
            text = f"{remedy}{keeps}"
            if text not in found and keeps in said:
                text = remedy
            said.add(keeps)
            found[text] = None
            supplies.setdefault(text, []).append(supply_name(entry))
    if any(row["source"] == SourceKind.NODEFS.value and row["detail"].endswith(_MISSING) for row in status["problems"]):
        found[_MAKE_ROOT_DIR] = None
    return list(dict.fromkeys(filter(None, (*_with_supplies(found, supplies), of_limit, unread_remedy(status)))))


def _with_supplies(found: Iterable[str], supplies: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield the texts, each after the signals that it is about where texts are about different ones."""
    told = {text: dict.fromkeys(supplies[text]) for text in found if text in supplies}
    differ = len({tuple(names) for names in told.values()}) > 1
    for text in found:
        yield f"for {' and '.join(told[text])}: {text}" if differ and text in told else text


def _open(status: Document) -> list[Document]:
    """Return the signals for which more pods may have to go, of a supply that several observe the first.

    A threshold is near for the first time, a grace period runs, it is not known yet whether a collection frees enough, no pod
    leaves, or too little. While what ended pods held is awaited and is enough, only a threshold that is met before counts. Beside
    a threshold that is met, one is not near whose signal has nearly stopped to fall.
    """
    is_short = any(is_pressed(each) for entry in status["signals"] for each in entry["thresholds"])
    soon = (each for each in approaches(status) if not each.caveat and (each.stays_near or not is_short))
    near = (*soon, *as_before(status))
    of_grace = (each.entry for each in graces(status) if not awaited_pods(status, each.entry))
    found = [*(each.entry for each in near), *of_grace]
    for entry in status["signals"]:
        collected = status["phase"]["name"] == _RECLAIMING and SIGNALS[Signal(entry["signal"])].resource in DISKS
        late = collected or is_too_little(status["leaving"], entry) or _is_waiting(status)
        if is_due(entry) and not _reason(entry) and late and not awaited_pods(status, entry):
            found.append(entry)
    once: dict[str, Document] = {}
    for entry in found:
        once.setdefault(supply_name(entry), entry)
    return list(once.values())


def _of_overdue(status: Document) -> list[str]:
    """Return what to do about the pods that are being evicted and did not end in time."""
    late = [row["pod"] for row in status["leaving"] if is_overdue(row)]
    pods = first_of([clean(each) for each in late], _NAMED)
    return [_OVERDUE.format(pods=pods, verb="does" if len(late) == 1 else "do")] if late else []


def _is_waiting(status: Document) -> bool:
    """Whether no pod is being evicted, or asked for: evictd waits before it chooses one, or is in a dry run."""
    return not (status["leaving"] or status["asked"])


def _is_named(entry: Document, found: Iterable[str], status: Document) -> bool:
    """Whether what is said already names the pod that no other one goes for, or that is asked for, and that grew the most."""
    refused_first = {row.get("refusedFirst", "") for row in status["asked"]}
    culprit = _grower(entry)[0]
    is_cause = bool(culprit) and culprit in {entry["stopPod"], *refused_first}
    return is_cause and any(clean(culprit) in text for text in found)


def _goes_at_once(due: Sequence[Document]) -> str:
    """Return which pods the end of a dry run would evict; empty for none."""
    pods = dict.fromkeys(clean(entry["next"]["pod"]) for entry in due if entry["next"])
    return f": that can evict {first_of(list(pods))} at once" if pods else ""


def _remedies(entry: Document, leaving: Sequence[Document], *, mended: bool) -> Iterator[str]:
    """Yield what to do about a signal that is short; `mended`: what fills it is the pods of an owner, which is to be mended."""
    if not any(map(is_pressed, entry["thresholds"])):
        return
    outside, reason = outside_pods(entry), _reason(entry)
    remedy = _of_pods(entry, reason, leaving, mended=mended)
    outside_grew = grew_elsewhere(entry) and not may_have_grown(leaving, entry)
    if outside_grew and (suspects := entry["hostPathPods"]):
        yield _of_host_paths(entry, suspects)
    if outside_grew and outside not in remedy:
        yield f"{outside}: {_not_of_a_pod(entry)}"
        if remedy and reason == "ProtectedCulprit":
            took = (
                "it took less"
                if entry["attribution"]["protected"]["grown"] > 0
                else "it holds the most, and did not grow"
            )
            remedy = f"after that, {remedy}: {took}"
    if remedy:
        yield remedy


def _of_host_paths(entry: Document, pods: Sequence[str]) -> str:
    return host_path_remedy(pods, _resource(entry), entry["hostPathOwners"])


def _reason(entry: Document) -> str:
    """Return why no pod is evicted for a signal of which a threshold is due; empty where one goes."""
    reason = str(entry["stopReason"]) if is_due(entry) else ""
    return "ThresholdNeverClear" if reason == "EvictionsDoNotHelp" and _stands_still(entry) else reason


def _of_pods(entry: Document, reason: str, leaving: Sequence[Document], *, mended: bool) -> str:
    """Return what to do about the reason for no eviction; empty where a pod that leaves is enough, or what grew is no pod's."""
    outside = outside_pods(entry)
    remedy = remedy_of(reason, _resource(entry))
    grower = _grower(entry)[0]
    if culprit := entry["stopPod"]:
        if culprit in {row["pod"] for row in leaving}:
            return outside if is_too_little(leaving, entry) else ""
        return (
            budget_remedy(culprit)
            if is_guarded_by_budget(entry)
            else of_culprit(remedy, culprit, entry["stopPodGuard"])
        )
    if reason == "ThresholdNeverClear" and _is_beyond_pods(entry):
        return LOWER_THRESHOLD
    if reason == "EvictionsDoNotHelp" and grower and not grew_elsewhere(entry):
        return "" if mended or leaves(grower, leaving) else _of_grower(entry, grower)
    if reason == "NothingEvictable" and (grew_elsewhere(entry) or leaves(grower, leaving)):
        return ""  # no static pod grew
    if reason == "EvictionLimitReached" and (then := entry["stopThen"]):
        return limit_remedy(then["raiseRequests"])
    if reason == "NothingHelps" and are_enough(leaving, entry):
        return ""  # of the other pods
    return remedy


def _of_grower(entry: Document, grower: str) -> str:
    """Return what to do about the pod that grew the most, or the pods of which none took most of it."""
    if not _is_main(entry, _NO_GROWTH):
        return several_grew(entry, _NO_GROWTH)
    if _grower(entry)[1]:
        return f"{of_culprit(remedy_of('ProtectedCulprit', _resource(entry)), grower, '')}: it grew the most"
    return f"end, move or limit {clean(grower)}, which grew the most"


def _is_beyond_pods(entry: Document) -> bool:
    """Whether all pods together hold less than is missing, so that moving them does not help; False where it is not known."""
    held = entry["attribution"] or {}
    amounts = [held[kind]["held"] for kind in ("evictable", "protected", "leaving", "unmeasured") if kind in held]
    unknown = None in amounts or bool(held and held["unmeasured"]["pods"])
    return bool(amounts) and not unknown and sum(amounts) < missing(entry)


def _stands_still(entry: Document) -> bool:
    """Whether nothing fills the supply, so that the threshold is above its normal level."""
    rate, held = entry.get("fillRate"), entry["attribution"] or {}
    kinds = ("evictable", "protected", "leaving", "unmeasured", "elsewhere")
    return rate is not None and rate <= 0 and not any(held[kind]["grown"] > 0 for kind in kinds if kind in held)


def _before(entry: Document, status: Document) -> tuple[str, str]:
    """Return what to do before enough pods are evicted, and what to add about the first pod of now (`_keeps`).

    Both are empty where the pod that grew the most is being evicted.

    Where the soft one before it is met by page cache alone, no pod is to be ended, nor where a pod leaves that holds enough.
    """
    if entry["stopReason"] == PAGE_CACHE or fills_with_pages(entry):
        return REMEDIES[PAGE_CACHE], ""
    if entry["stopReason"] == NO_POD_MEASURED and status["problems"]:
        return REMEDIES[NO_POD_MEASURED], ""
    if entry["leavesFirst"]:
        return "", ""  # the end of a pod that was deleted relieves the node
    keeps = _keeps(entry)
    outside, growing = outside_pods(entry), entry["growing"] or _NO_GROWTH
    if _grows_elsewhere(entry):
        if suspects := entry["hostPathPods"]:
            outside = f"{_of_host_paths(entry, suspects)}; {outside}"
        return f"{outside}: {_not_of_a_pod(entry)}", keeps
    first = next(iter(growing["pods"]), None)
    grower, protected = _grower(entry) if first is None else (first["pod"], bool(first["protected"]))
    if leaves(grower, status["leaving"]):
        return "", ""
    if of_owner := owner_remedy(status, grower):
        return of_owner, ""
    if grower and not _is_main(entry, growing):
        return before_pods(status, entry, several_grew(entry, growing)), keeps
    if not grower and entry["stopPod"]:
        return _of_pods(entry, entry["stopReason"], status["leaving"], mended=False), ""
    if not grower:
        held = entry["attribution"] or {}
        pods = held["evictable"]["pods"] + held["unmeasured"]["pods"] if held else status["pods"]
        may_help = pods != 0 and not _is_beyond_pods(entry)
        largest = "end, move or limit one of the largest pods that may be evicted, or " if may_help else ""
        return f"{largest}{outside}", keeps
    if protected:
        guard = _guard_of(grower, status)
        remedy = of_culprit(remedy_of("ProtectedCulprit", _resource(entry)), grower, guard)
        return before_pods(status, entry, f"{remedy}: it grew the most"), keeps
    return before_pods(status, entry, about_grower(entry, grower)), keeps


def _guard_of(pod: str, status: Document) -> str:
    """Return why a pod is never evicted; empty where the growth of no signal names it."""
    grew = (each for entry in status["signals"] for each in (entry["growing"] or _NO_GROWTH)["pods"])
    return next((str(each["protected"]) for each in grew if each["pod"] == pod), "")


def _keeps(entry: Document) -> str:
    """Return after a semicolon how to keep the first pod of now, or which one to look at if the growth has ended."""
    if ended := entry["nextIfItStops"]:
        return f"; if the growth has ended, end, move or limit {clean(ended['pod'])}, which goes then"
    first_now = None if entry["nextIfItGrows"] or entry.get("stopIfItGrows") else entry["next"]
    return f"; `evictd why {clean(first_now['pod'])}` says what would keep that pod" if first_now else ""


def _not_of_a_pod(entry: Document) -> str:
    """Write where what grew is: hostPath volumes are not measured."""
    return "what grew was measured in no pod" if entry["hostPathPods"] else "what grew belongs to no pod"


def _is_main(entry: Document, growing: Document) -> bool:
    """Whether the pod that grew the most took more than half of what the pods took."""
    if first := next(iter(growing["pods"]), None):
        return bool(first["grown"] * 2 > growing["ofPods"])
    held = entry["attribution"]
    of_pods = _of_pods_grown(held)
    return bool(held.get("growerGrown", of_pods) * 2 > of_pods)


def _of_pods_grown(held: Document) -> int:
    return sum(held[kind]["grown"] for kind in ("evictable", "protected", "leaving", "unmeasured"))


def _grower(entry: Document) -> tuple[str, bool]:
    """Return the pod that grew the most since the supply became short, and whether it is protected.

    Empty if unknown, and where it grew by little of what is missing: its end or a limit would not help.
    """
    held = entry["attribution"]
    if not held or held["overNanoseconds"] is None:
        return "", False
    if held.get("growerGrown", _of_pods_grown(held)) * _LITTLE < missing(entry) or _is_beyond_pods(entry):
        return "", False
    return held.get("grower", ""), held["protected"]["grown"] > max(
        held["evictable"]["grown"], held["leaving"]["grown"]
    )


def suspected_pods(entry: Document) -> Sequence[str]:
    """Return the pods with hostPath volumes, which are not measured, where most of what grew is no pod's; else none."""
    suspected: Sequence[str] = entry["hostPathPods"] if _grows_elsewhere(entry) or grew_elsewhere(entry) else ()
    return suspected


def _grows_elsewhere(entry: Document) -> bool:
    """Whether most of what makes a supply fall, before it is short, belongs to no pod."""
    growing = entry["growing"] or _NO_GROWTH
    return bool(entry["beyondPods"] or (growing["elsewhere"] or 0) > growing["ofPods"])


def outside_pods(entry: Document) -> str:
    """Return what to do where no pod took what a signal measures."""
    return OUTSIDE_PODS[_resource(entry)]


def _resource(entry: Document) -> Resource:
    return SIGNALS[Signal(entry["signal"])].resource


def grew_elsewhere(entry: Document) -> bool:
    """Whether most of what filled the supply since it became short belongs to no pod."""
    held = entry["attribution"]
    if not held or held["overNanoseconds"] is None or held.get("unreadNanoseconds"):
        return False
    return bool(held["elsewhere"]["grown"] > max(_of_pods_grown(held), 0))

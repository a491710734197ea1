"""Holds what a person can do about a shortage: by the reason for which no pod is evicted, and by what is short.

Reasons are plain texts, the values of `NoActionReason`: importing the decisions takes a third of the time of `status`. Commands
stand between backticks.
"""

from collections.abc import Mapping, Sequence

from evictd.core.model.signal import WITH_REQUEST, Resource
from evictd.render.status.owners import mend_or_stop
from evictd.render.text import amount_text, clean, first_of

OUTSIDE_PODS = {
    Resource.MEMORY: "free memory outside pods (`systemd-cgtop -m` shows host services, `slabtop` the kernel)",
    Resource.SWAP: "free swap outside pods (`systemd-cgtop -m` shows host services)",
    Resource.EPHEMERAL_STORAGE: (
        "free disk space outside pods (hostPath directories, deleted files that are open: `lsof +L1`, snapshots that no "
        "image uses)"
    ),
    Resource.INODES: "remove files outside pods (hostPath directories, snapshots that no image uses)",
    Resource.PIDS: "end processes outside pods (`systemd-cgtop -t` shows them by service)",
    Resource.IO: "end what stalls the node outside pods (`systemd-cgtop -i` shows it by service)",
}
"""What to do where no pod took what is short."""
_LESSENED: Mapping[Resource | None, str] = {
    Resource.PIDS: "let the protected pod start fewer processes and threads (podPidsLimit of the kubelet bounds each pod)",
    Resource.INODES: "let the protected pod keep fewer files",
}
"""How a pod that may not go is made to take less, where no limit of a pod counts what is short."""
_IF_STATIC = " (if it is static: change its manifest)"
LOOK_AT_BUDGETS = "look at the disruption budgets (`kubectl get pdb --all-namespaces`)"
_OUTSIDE, _LESSEN = "{outside}", "{lessen}"
MEASURE_HOST_PATHS = "measure the hostPath volumes of "
"""How `host_path_remedy` begins."""
_NAMED = 3
_SEVERAL = 2
_READINGS = "restore the readings that are reported as problems"
_MEASURE = f"{_READINGS}: `evictd explain` shows which pods have no usage"
PAGE_CACHE = "NotShortOfMemory"
"""The reason while page cache alone holds a threshold met."""
NO_POD_MEASURED = "NoPodMeasured"
"""The value of `NoActionReason`; a literal, because importing the decisions takes a third of the time of `status`."""
LOWER_THRESHOLD = "lower the threshold (`evictd check` shows it as an amount on this node)"
"""What to do where a threshold is above its normal level, and no pod holds what is missing."""


def limit_remedy(relieve: str = "") -> str:
    """Return what to do once `evictionLimit` is reached; `relieve` is what relieves the node, as far as it is known."""
    return f"see which pods went (`evictd history`), then {relieve or 'relieve the node'} or raise `evictionLimit`"


def raise_requests(owner: str, amounts: Sequence[tuple[int, int]], resource: Resource) -> str:
    """Return to raise the requests of an owner (`Kind/name`); empty unless several pods of it exceed theirs and none is within.

    `amounts` are what each of its pods uses, and requests.
    """
    if resource not in WITH_REQUEST or len(amounts) < _SEVERAL or any(used <= request for used, request in amounts):
        return ""
    used, requested = (max(each) for each in zip(*amounts, strict=True))
    most = "" if all(each == used for each, _ in amounts) else "up to "
    request = f"request {amount_text(requested, resource)}" if requested else "request none"
    return f"raise the requests of {owner} (its pods use {most}{amount_text(used, resource)} and {request}), move pods away"


REMEDIES: Mapping[str, str] = {
    "NoStats": _READINGS,
    "SignalUnobserved": _READINGS,
    "ReclaimSufficed": "",
    "NoRankFunction": "",
    "NoActivePods": _OUTSIDE,
    "PodsUnknown": "",
    "NothingEvictable": f"move static or critical pods, or {_OUTSIDE}",
    NO_POD_MEASURED: _MEASURE,
    "ApiPodsStandalone": "set `cluster.kubeconfig`, or `allowApiPodsStandalone: true` to act without priorities and requests",
    "FilesystemReadOnly": "repair the filesystem (`dmesg` shows why it is read-only)",
    "ProtectedCulprit": f"{_LESSEN} or move it to another node{_IF_STATIC}",
    "WaitingForVictim": "",
    "WaitingForRelease": "",
    "NothingHelps": _OUTSIDE,
    "HeldBack": f"{LOOK_AT_BUDGETS} and at the owners that recreate their pods",
    "UnmeasuredCulprit": _MEASURE,
    "EvictionsDoNotHelp": _OUTSIDE,
    "ThresholdNeverClear": f"{LOWER_THRESHOLD}, or move pods away",
    PAGE_CACHE: (
        "set `memory.formula: MemAvailable`, which does not count page cache that the kernel can drop (docs/tuning.md); until "
        "then MemoryPressure keeps new pods off this node"
    ),
    "EvictionLimitReached": limit_remedy(),
    "LayoutUnknown": "restore the container runtime, which says where its images are",
}
"""What to do by the reason for which no pod is evicted; empty where evictd goes on by itself."""


def remedy_of(reason: str, resource: Resource | None, pod: str = "") -> str:
    """Return what to do about a reason for which no pod is evicted; `pod` is the protected pod that is the cause, if known.

    A pod has no limit of PIDs or inodes. A newer daemon may have other reasons: they have no remedy here.
    """
    outside = "" if resource is None else OUTSIDE_PODS.get(resource, "")
    lessen = _LESSENED.get(resource, "limit the protected pod")
    text = REMEDIES.get(reason, "").replace(_OUTSIDE, outside).replace(_LESSEN, lessen)
    return _named(text, pod) if pod else text


def of_culprit(remedy: str, pod: str, guard: str | None) -> str:
    """Return the remedy with the pod's name; its manifest only where it is a static pod, or where that is not known."""
    known = remedy.replace(_IF_STATIC, " (change its manifest)" if guard == "static pod" else "") if guard else remedy
    return _named(known, pod)


def _named(remedy: str, pod: str) -> str:
    return remedy.replace("the protected pod", clean(pod))


def host_path_remedy(pods: Sequence[str], resource: Resource | None, owners: Sequence[str] = ()) -> str:
    """Return what to do where pods have hostPath volumes, which are not measured, and what filled the disk belongs to no pod.

    `owners` (`Kind/name`) create the pods again when these end.
    """
    names, inodes = first_of([clean(each) for each in pods], _NAMED), resource is Resource.INODES
    measure, fill = ("du -x --inodes -s", "use up the inodes") if inodes else ("du -xsh", "fill the disk")
    mend = first_of([mend_or_stop(clean(each)) for each in owners], _NAMED)
    create = f"{'creates' if len(owners) == 1 else 'create'} {'the pod' if len(pods) == 1 else 'such pods'} again"
    first = f"first {mend}, which {create}, then " if owners else ""
    return (
        f"{MEASURE_HOST_PATHS}{names} with `{measure}`: if they {fill}, {first}end the pod and delete the files in them"
    )

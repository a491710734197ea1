"""Says of an owner that its pods are evicted again and again, and what to do about it: for the page, `status` and `incident`."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from evictd.core.model.signal import Resource
from evictd.render.text import clean, first_of, ordinal, seconds_text

Document = Mapping[str, Any]

AGAIN = 3
"""From how many evictions on an owner is named as what has to be changed."""
TWICE = 2
"""From how many on, where the last evicted pod made the node short by its own growth, and to say that a new one goes again."""
_NAMED = 3
_UNDONE = frozenset({"DaemonSet", "Deployment", "StatefulSet"})
"""Kinds whose last change `kubectl rollout undo` takes back."""


def mend_owner(owner: str, namespace: str) -> str:
    """Return what to do about an owner (`Kind/name`) whose pods fill the node again and again, as a clause."""
    return f"{_mended(owner, namespace)}, or keep its pods off this node until it is mended"


def mend_or_stop(owner: str) -> str:
    """Return what ends the creation of more pods by an owner (`Kind/name`)."""
    kind = owner.partition("/")[0]
    if kind in _UNDONE:
        return f"mend {owner}"
    return f"mend what {owner} runs" if kind == "ReplicaSet" else f"stop {owner}"


def mend_evicted(
    pod: str, owner: str, resource: Resource | None, *, limits: bool, size: str = "", leaves: bool = False
) -> str:
    """Return what to do about an evicted pod that filled a supply, or what its owner (`Kind/name`) runs.

    `limits`: a limit of the pod counts what filled it. `size` is what else bounds it. `leaves`: it has not ended yet.
    """
    of_pids = resource is Resource.PIDS
    bound = ", or bound it by podPidsLimit of the kubelet" if of_pids else size
    before = "" if owner else f"{',' if of_pids else ''} before it {'is started anew' if leaves else 'runs again'}"
    return f"{'mend or limit' if limits else 'mend'} {f'what {owner} runs' if owner else pod}{bound}{before}"


def _mended(owner: str, namespace: str) -> str:
    kind, _, name = owner.partition("/")
    undo = f"`kubectl -n {namespace} rollout undo {kind.lower()}/{name}`"
    return f"{mend_or_stop(owner)}{f' (if its last change is the cause: {undo})' if kind in _UNDONE else ''}"


# --- from the document of `/statusz` ----------------------------------------------------------------------------------


def nth_text(status: Document, pod: str) -> str:
    """Write which pod of its owner the last evicted one is, after a comma; empty where few of them were evicted."""
    owner = next((each for each in _owners(status) if each["lastPod"] == pod), None)
    if owner is None or owner["evicted"] < AGAIN:
        return ""
    return f", the {ordinal(owner['evicted'])} pod of {clean(owner['owner'])}{_since(status, owner)}"


def owner_remedy(status: Document, pod: str) -> str:
    """Return what to do where a new pod of an owner fills the node as one did that was evicted; empty where it is not known."""
    for owner in _owners(status):
        if not owner["filled"] or (
            pod not in owner["newPods"] and (pod != owner["lastPod"] or owner["evicted"] < AGAIN)
        ):
            continue
        mend = mend_owner(clean(owner["owner"]), clean(owner["namespace"]))
        if owner["evicted"] >= AGAIN:
            return f"{mend}: {owner['evicted']} of its pods were evicted here{_since(status, owner)}"
        ago = _ago(status, owner["last"])
        return f"{mend}: {clean(pod)} came in the place of {clean(owner['lastPod'])}, which was evicted {ago} ago"
    return ""


def owner_remedies(status: Document) -> list[str]:
    """Return what to do about the owners whose pods filled the node and were evicted again and again."""
    found = (owner_remedy(status, owner["lastPod"]) for owner in _owners(status))
    return [text for text in found if text]


def new_pods(status: Document) -> list[str]:
    """Return of owners that a new pod of theirs runs, or goes again if they create one, as sentences.

    Of those whose last pod filled the node, and of those of which several were evicted. None of a pod that already comes first,
    or goes when a pause ends, or leaves: it is named then.
    """
    named = {first["pod"] for entry in status["signals"] for key in ("next", "stopThen") if (first := entry.get(key))}
    named.update(row["pod"] for row in status["leaving"])
    found = (_of_owner(status, owner) for owner in _owners(status) if named.isdisjoint(_latest(owner)))
    return [text for text in found if text]


def _latest(owner: Document) -> list[str]:
    """Return the new pods of an owner, or the last that was evicted where it has none yet."""
    return owner["newPods"] or [owner["lastPod"]]


def _of_owner(status: Document, owner: Document) -> str:
    """Write that a new pod of an owner goes if it takes as much as the last one, also one that is not there yet; else empty."""
    new, name = owner["newPods"], clean(owner["owner"])
    if not new:
        if owner["evicted"] < TWICE:
            return ""
        so_far = f"{owner['evicted']} pods of {name} were evicted here{_since(status, owner)}"
        return f"{so_far}: if it creates one here again that takes as much, that one goes again"
    if not owner["filled"] and owner["evicted"] < TWICE:
        return ""
    one = len(new) == 1
    grow, order = ("grow", "first") if owner["filled"] else ("take as much", "again")
    it_grows = ("it grows" if owner["filled"] else "it takes as much") if one else f"they {grow}"
    then = f"if {it_grows} as that one did, {'it goes' if one else 'they go'} {order}"
    pods = first_of([clean(each) for each in new], _NAMED)
    return f"{pods}, of {name}, {'runs' if one else 'run'} in the place of {clean(owner['lastPod'])}: {then}"


def _owners(status: Document) -> list[Document]:
    """Return the owners, the last evicted first; a dry run evicts no pod."""
    return [each for each in reversed(status["owners"]) if not each["dryRun"]]


def _since(status: Document, owner: Document) -> str:
    return f" in {_ago(status, owner['since'])}"


def _ago(status: Document, at: str) -> str:
    return seconds_text(seconds_ago(status, at) or 0)


def seconds_ago(status: Document, at: str) -> float | None:
    """Return how long ago an RFC 3339 time of the node was when `/statusz` was made; `None` if it is not one.

    `evictd.codec` would take `status` long to import.
    """
    try:
        passed = (datetime.fromisoformat(status["at"]) - datetime.fromisoformat(at)).total_seconds()
    except (TypeError, ValueError):
        return None
    return float(max(status["ageSeconds"] + passed, 0))

"""Completes the document of `/statusz` of an older daemon: `evictd status` and `why` may be newer than the daemon that answers.

What a daemon does not say counts as unknown. The modules that write sentences so need not tell an old document from a new one.
"""

from collections.abc import Mapping
from typing import Any

Document = Mapping[str, Any]

_STATUS: Document = {
    "asked": (),
    "faults": (),
    "headline": {"text": "", "level": ""},
    "kernelKills": (),
    "ownLimits": (),
    "owners": (),
    "podTermination": "Auto",
    "unguardedMemory": None,
}
_ROWS: Mapping[str, Document] = {
    "asked": {"refusedFirst": ""},
    "decisions": {
        "dryRun": False,
        "forPages": False,
        "freed": None,
        "incident": "",
        "owner": "",
        "signal": "",
        "tookMost": False,
        "why": "",
    },
    "leaving": {"awaitedForSeconds": None, "endsInSeconds": None},
    "ownLimits": {"secondsToLimit": None},
}
"""By list of the document, the fields of each of its rows."""
_SIGNAL: Document = {
    "attribution": None,
    "beyondPods": None,
    "growing": None,
    "hostPathOwners": (),
    "hostPathPods": (),
    "leavesFirst": (),
    "measuresForSeconds": None,
    "next": None,
    "nextIfItGrows": None,
    "nextIfItStops": None,
    "notOfPods": None,
    "reclaimsFirst": False,
    "stop": "",
    "stopDoubled": False,
    "stopEndsInSeconds": None,
    "stopIfItGrows": "",
    "stopInstead": None,
    "stopLastsSeconds": None,
    "stopPod": "",
    "stopPodGuard": "",
    "stopReason": "",
    "stopThen": None,
    "waitsForPages": None,
}
_PARTS: Mapping[str, Document] = {
    "growing": {"arrived": None, "measuredSecondsBefore": None},
    "next": {"budgetMayRefuse": False, "refusedSecondsAgo": None, "why": ""},
    "nextIfItGrows": {"grows": True},
    "stopThen": {"raiseRequests": ""},
}
"""By field of a signal that may be `null`, the fields of its value."""
_MEMORY: Document = {"firstToGo": "", "growth": None}
_THRESHOLD: Document = {
    "configured": None,
    "gracePeriodSeconds": 0,
    "recoveredFrom": None,
    "secondsAsBefore": None,
    "secondsAtLastFall": None,
}


def completed(status: Document) -> dict[str, Any]:
    """Return the document with a value for each field that this version reads, also of its signals and their thresholds."""
    found = {**_STATUS, **status}
    rows = {name: [{**known, **row} for row in found[name]] for name, known in _ROWS.items()}
    if found["unguardedMemory"]:
        found["unguardedMemory"] = {**_MEMORY, **found["unguardedMemory"]}
    return {**found, **rows, "signals": [_signal(each) for each in status["signals"]]}


def _signal(entry: Document) -> dict[str, Any]:
    found = {**_SIGNAL, "stopBrief": entry.get("stop", ""), **entry}
    parts = {name: {**known, **found[name]} for name, known in _PARTS.items() if found[name]}
    return {**found, **parts, "thresholds": [{**_THRESHOLD, **each} for each in entry["thresholds"]]}

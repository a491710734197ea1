"""Says why no pod is evicted for a signal and until when, from the document of `/statusz`, for the page and `status`."""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from evictd.render.status.remedy_texts import NO_POD_MEASURED, PAGE_CACHE
from evictd.render.text import capital, clean, seconds_text

Document = Mapping[str, Any]

BUDGET_GUARD = "disruption budget"
"""What guards the pod for which no other one goes (`stopPodGuard` of the document); else a text of `text.protection`."""
_AUTO = "Auto"
"""`EvictionMethod.AUTO`, whose module `status` need not load."""
_PAUSED = "EvictionsDoNotHelp"
"""Its sentence ends with "evictions pause", and the time goes on with it."""
_FINDING = re.compile(r"(^|: )([A-Z][a-z]+(?:[A-Z][a-z]+)+): ")
"""The name of a finding before its sentence."""


def name_last(text: str) -> str:
    """Move the name of a finding to the end of its sentence: who reads it needs the name only to look it up."""
    found = _FINDING.search(text)
    return text if found is None else f"{text[: found.end(1)]}{text[found.end() :]} ({found[2]})"


def brief_stop(entry: Document) -> str:
    """Return the first part of why no pod goes for a signal, without amounts; empty where one goes, or none is measured."""
    if entry["stopReason"] == NO_POD_MEASURED:
        return ""
    if is_guarded_by_budget(entry):
        return f"a disruption budget refuses the eviction of {clean(entry['stopPod'])}, which comes first"
    return str(entry["stopBrief"])


def paused_until(status: Document, entry: Document) -> str:
    """Return until when no pod goes for a signal, after a blank: ` until 14:03:20 UTC (in 11m0s)`; empty where no time is set.

    Of a pause that has not begun, for how long: ` for 10m0s from when the threshold acts`.
    """
    if is_guarded_by_budget(entry):
        return ""
    if lasts := entry["stopLastsSeconds"]:
        acts = any(each["met"] and not each["graceLeftSeconds"] for each in entry["thresholds"])
        begins = "" if acts else " from when the threshold acts"
        return f" for {seconds_text(lasts)}{begins}"
    at, longer = _at(status, entry), ", twice the pause before" if entry["stopDoubled"] else ""
    return f" until {at}{longer}" if at else ""


def is_guarded_by_budget(entry: Document) -> bool:
    """Whether no pod goes for a signal because a disruption budget refuses the eviction of the one that should go."""
    return bool(entry["stopPodGuard"] == BUDGET_GUARD)


def before_stop_ends(entry: Document, left: float) -> str:
    """Return that something is in `left` seconds, before a pod may go for a signal, between commas; empty where it is not."""
    ends = None if is_guarded_by_budget(entry) else entry["stopEndsInSeconds"]
    return ", before evictd evicts a pod," if ends is not None and left < ends else ""


def before_collection_ends(status: Document, entry: Document, left: float) -> str:
    """Return that something may be in `left` seconds, before a collection for this signal ends, between commas; empty else."""
    phase = status["phase"]
    ends, filesystem = phase.get("endsInSeconds"), phase.get("filesystem")
    if not filesystem or ends is None or left >= ends or not entry["signal"].startswith(f"{filesystem}."):
        return ""
    return f", maybe before evictd has removed what no pod needs (in {seconds_text(ends)} at most),"


def past_its_budget(status: Document, entry: Document) -> str:
    """Return when evictd deletes a pod whose eviction a disruption budget refuses, or takes another one in its place.

    Empty where none holds up evictions.
    """
    if not is_guarded_by_budget(entry):
        return ""
    return _past(status, entry, entry["stopEndsInSeconds"], "that pod", entry["stopInstead"])


def asked_past_its_budget(status: Document) -> str:
    """Return when evictd deletes the pod whose eviction the API server refused, and asks for again; empty where it is unknown.

    Empty also where that time is over and another pod is asked for: it has its turn again later. With another `podTermination`
    than `Auto` no pod is deleted at any time.
    """
    row, entry = _asked(status)
    return "" if entry is None else _past(status, entry, row["budgetEndsInSeconds"], clean(row["refusedFirst"]), None)


def _asked(status: Document) -> tuple[Document, Document | None]:
    """Return the pod that is asked for, and the entry of its signal; `None` for that where no budget holds the pod up."""
    row: Document = next(iter(status["asked"]), {})
    entry = next((each for each in status["signals"] if each["signal"] == row.get("signal")), None)
    left = row.get("budgetEndsInSeconds")
    if left is None or entry is None:
        return row, None
    is_over = left <= 0 and row["refusedFirst"] not in {each["pod"] for each in status["asked"]}
    return row, None if is_over and (_is_hard(entry) or _termination(status) == _AUTO) else entry


def _past(status: Document, entry: Document, left: float | None, pod: str, instead: Document | None) -> str:
    when, termination = _from(_time(status, left)), _termination(status)
    if _is_hard(entry):
        return f"evictd deletes {pod} despite the budget {when}"
    if termination == _AUTO:
        return f"with podTermination {_AUTO} evictd deletes {pod} despite the budget {when}"
    never = f"with podTermination {termination} evictd deletes no pod despite a budget"
    if not instead:
        return never
    return f"{never}; {clean(instead['pod'])} may go in its place {_from(_time(status, instead['inSeconds']))}"


def passes_over_budget(status: Document) -> bool:
    """Whether evictd deletes a pod despite a disruption budget only because `podTermination` is `Auto`."""
    _, asked = _asked(status)
    held = [*filter(is_guarded_by_budget, status["signals"]), *filter(None, (asked,))]
    return _termination(status) == _AUTO and not all(map(_is_hard, held))


def _is_hard(entry: Document) -> bool:
    """Whether a hard threshold of a signal is met."""
    return any(each["met"] and each["kind"] == "hard" for each in entry["thresholds"])


def _termination(status: Document) -> str:
    return str(status["podTermination"])


def _from(at: str) -> str:
    """Write from which time on something is done that evictd does in an attempt."""
    return f"from {at} on" if at else "at the next attempt"


def goes_then(entry: Document) -> str:
    """Return which pod goes when a stop ends by itself, or at the hard threshold, as a clause; empty where none is known."""
    if not (then := entry["stopThen"]):
        return ""
    pod = clean(then["pod"])
    if entry["stopReason"] == PAGE_CACHE:
        return f"at the hard threshold {pod} would be evicted"
    return f"then {pod} would be evicted if the threshold is still met"


def stop_text(status: Document, entry: Document) -> str:
    """Return why no pod goes for a signal, until when, and which one goes then; empty where one goes.

    Amounts do not decide where a disruption budget does: what follows is what evictd does about it.
    """
    if not entry["stop"]:
        return ""
    if budget := past_its_budget(status, entry):
        return f"{entry['stopReason']}: {entry['stopBrief']}. {capital(budget)}"
    until = paused_until(status, entry)
    pauses = entry["stopReason"] == _PAUSED
    then = f"; {goes}" if (goes := goes_then(entry)) else ""
    return f"{entry['stop']}{'' if pauses or not until else ';'}{until}{then}"


def _at(status: Document, entry: Document) -> str:
    """Write the time of the node's clock at which a stop ends; empty where none is known, or it is over."""
    return _time(status, entry["stopEndsInSeconds"])


def _time(status: Document, left: float | None) -> str:
    """Write the time of the node's clock when `left` seconds are over; empty where they are not known, or over already."""
    if left is None or left <= 0:
        return ""
    at = datetime.fromisoformat(status["at"]) + timedelta(seconds=status["ageSeconds"] + left)
    return f"{at:%H:%M:%S} UTC (in {seconds_text(left)})"

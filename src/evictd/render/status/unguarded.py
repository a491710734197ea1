"""Says that no threshold guards memory, so that the kernel chooses what ends when none is left, from `/statusz`."""

from collections.abc import Mapping
from typing import Any

from evictd.core.model.signal import MEMORY_SIGNALS, Resource, Signal
from evictd.render.status.remedy_texts import OUTSIDE_PODS
from evictd.render.status.times.timing import SOON_SECONDS
from evictd.render.text import clean, seconds_text, signal_amount

Document = Mapping[str, Any]
NO_THRESHOLDS = (
    "no threshold is configured, so evictd evicts no pod for pressure: give `evictd run` a file with --config"
)
PROPOSED_THRESHOLD = "500Mi"
_SHORT = 4
"""Memory without a threshold is named where less than this part of it is left."""


def unguarded_text(status: Document) -> str:
    """Return that memory has no threshold, when nothing is left of it, and who takes it, or which pod uses most of it.

    Empty where it has one, and while much is left of it.
    """
    memory = status["unguardedMemory"]
    if memory is None or (memory["available"] * _SHORT > memory["capacity"] and not ends_soon(status)):
        return ""
    left, of = (_amount(memory[each]) for each in ("available", "capacity"))
    if ends_soon(status):
        when, growth = f"in {seconds_text(memory['secondsToZero'])} at the present rate", memory["growth"]
        took = f"; {clean(growth['text'])}" if growth else ""
        return (
            f"memory.available reaches 0 {when} ({left} of {of} left) and has no threshold, so evictd evicts no pod then, and "
            f"the kernel's OOM killer kills processes{took}"
        )
    holder = _holder(memory)
    most = f"; {clean(holder)} uses the most, {_amount(memory['largest']['usage'])}" if holder else ""
    return f"memory has no threshold, so evictd does not act when it runs short ({left} of {of} left{most})"


def _holder(memory: Document) -> str:
    """Return the pod that uses more than half of the memory in use; empty where none does."""
    largest = memory["largest"]
    return largest["pod"] if largest and largest["usage"] * 2 > memory["capacity"] - memory["available"] else ""


def unguarded_entry(status: Document) -> Document | None:
    """Return memory as the entry of a signal without thresholds, where it is short or the kernel killed for want of it."""
    memory = status["unguardedMemory"]
    if memory is None or not (status["kernelKills"] or unguarded_text(status)):
        return None
    amounts = {each: memory[each] for each in ("available", "capacity")}
    return {"signal": Signal.MEMORY_AVAILABLE.value, "observed": True, "fillRate": None, "thresholds": (), **amounts}


def _amount(count: int) -> str:
    return signal_amount(count, Signal.MEMORY_AVAILABLE)


def ends_soon(status: Document) -> bool:
    """Whether memory has no threshold and nothing is left of it within ten minutes at the present rate."""
    memory = status["unguardedMemory"]
    seconds = None if memory is None else memory["secondsToZero"]
    return seconds is not None and seconds <= SOON_SECONDS


def unguarded_remedy(status: Document) -> tuple[str, ...]:
    """Return what to do where memory has no threshold and runs short, or the kernel killed for want of it; empty elsewhere."""
    if guards_memory(status) or not (status["kernelKills"] or ends_soon(status)):
        return ()
    memory = status["unguardedMemory"]
    now, cause = ("", "") if memory is None else _against_cause(memory, falls=ends_soon(status))
    first = "" if memory is None else memory["firstToGo"]
    goes = f"; {clean(first)} would be evicted first by what pods use and request" if first not in {"", cause} else ""
    then = "goes on choosing what ends" if status["kernelKills"] else "chooses what ends"
    threshold = f"`evictionHard: {{memory.available: {PROPOSED_THRESHOLD}}}`"
    return (f"{now}give memory a threshold ({threshold}{goes}), or the kernel {then}",)


def _against_cause(memory: Document, *, falls: bool) -> tuple[str, str]:
    """Return what to do against the cause, and the pod that is the cause; both empty where the cause is not known."""
    growth = memory["growth"] or {"pod": "", "elsewhere": False}
    if falls and growth["elsewhere"]:
        return f"{OUTSIDE_PODS[Resource.MEMORY]}: what grew belongs to no pod; then ", ""
    pod, did = (growth["pod"], "took most of it") if falls else (_holder(memory), "uses the most memory")
    return (f"end, move or limit {clean(pod)}, which {did}; then ", pod) if pod else ("", "")


def guards_memory(status: Document) -> bool:
    """Whether memory has a threshold; one that cannot be read has one, and no limit of it is known."""
    guarded = {each.value for each in MEMORY_SIGNALS}
    return any(
        entry["signal"] in guarded and (entry["thresholds"] or not (entry["observed"] or entry.get("absent")))
        for entry in status["signals"]
    )

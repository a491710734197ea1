"""Says how much of what an eviction was for was page cache, which the kernel can drop, and what does not count it."""

from evictd.core.eviction.page_cache import NO_STALL
from evictd.core.model.signal import Resource, Signal
from evictd.core.model.threshold import Origin
from evictd.render.history.cause.recorded import recorded_amount
from evictd.render.history.history import HistoryEvent
from evictd.render.incident.record.incident import Incident
from evictd.render.incident.remedy.avoided import Avoidance, in_vain
from evictd.render.text import amount_text

_ALLOCATABLE = Signal.ALLOCATABLE_MEMORY_AVAILABLE.value
_NO_ALLOCATABLE = "enforceNodeAllocatable: [none] in evictd's configuration"


def _recorded_pages(event: HistoryEvent) -> tuple[int, int]:
    """Return the clean file pages of the evicted pod, and of the node; 0 where they are not recorded."""
    return event.because.get("filePages") or 0, event.because.get("nodeFilePages") or 0


def held_by_page_cache(found: Incident) -> bool:
    """Whether clean file pages that the kernel can drop held the threshold met."""
    return bool(_file_pages(found)) and found.stalled < NO_STALL


def _file_pages(found: Incident) -> str:
    """Return which clean file pages were most of what the pod held, or all that is missing on the node; empty if none."""
    pages, of_node = _recorded_pages(found.event)
    used = None if found.victim is None else found.victim.usage
    if found.resource is not Resource.MEMORY or found.missing is None or not pages + of_node:
        return ""
    if pages * 2 >= (used or 0):
        what = f"{amount_text(pages, Resource.MEMORY)} of what it held"
    elif of_node >= found.missing:
        what = f"{amount_text(of_node, Resource.MEMORY)} of what the node held"
    else:
        return ""
    return f"{what} are clean file pages"


def formula_remedy(found: Incident) -> Avoidance:
    """Return the formula that does not count page cache: as none where pages are in use or the pods' own limit was set."""
    if not (pages := _file_pages(found)):
        return Avoidance()
    formula = f"memory.formula: MemAvailable: {pages}"
    if not held_by_page_cache(found):
        stalled = f"tasks stalled for memory {found.stalled / 100:g}% of the time, so they are in use (docs/tuning.md)"
        return in_vain(f"{formula}, but {stalled}")
    if found.allocatable_met is None:
        return Avoidance(by=(f"{formula}, which the kernel can drop",))
    as_well = f"{_ALLOCATABLE} was met as well, and counts them by every formula"
    if found.allocatable_met is not Origin.DERIVED:
        return in_vain(f"{formula}, but {as_well}")
    both = f"memory.formula: MemAvailable and {_NO_ALLOCATABLE}: {pages}, which the kernel can drop"
    return Avoidance(
        by=(f"{both}; with the formula alone it would have gone for {_ALLOCATABLE}, which counts them always",)
    )


def listed_pages_text(event: HistoryEvent) -> str:
    """Write how much was page cache where that is at least half of what the pod held; else empty."""
    pages, of_node = _recorded_pages(event)
    used = recorded_amount(event.because.get("usage"))  # `None`: not measured
    if used is None or not pages or pages * 2 < used:
        return ""
    node = f", and {amount_text(of_node, Resource.MEMORY)} of what the node held" if of_node else ""
    return (
        f"{amount_text(pages, Resource.MEMORY)} of what it held{node} were clean file pages, which the kernel can drop."
    )

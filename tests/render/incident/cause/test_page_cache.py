"""Checks what is said of page cache that an eviction was for."""

from dataclasses import replace

from evictd.core.model.threshold import Origin
from evictd.render.incident.record.incident import Incident
from evictd.render.incident.record.verdict import Grower, Need
from evictd.render.incident.remedy.avoidance import avoidance
from tests.render.recorded_incident import judged
from tests.stories import GI


def of_page_cache() -> Incident:
    """A pod that grew and holds 5Gi of clean file pages."""
    found = judged(Need.NEEDED, Grower(pod="default/hog-old", rate=20 << 20))
    because = {**found.event.evidence["because"], "filePages": 5 * GI}
    return replace(found, event=replace(found.event, evidence={**found.event.evidence, "because": because}))


def test_a_pod_of_page_cache_is_answered_with_the_formula() -> None:
    """A limit was proposed, at which the kernel would have dropped the pages."""
    found = of_page_cache()
    assert avoidance(found).by[0] == (
        "memory.formula: MemAvailable: 5Gi of what it held are clean file pages, which the kernel can drop"
    )
    assert not any("limit" in each for each in avoidance(found).by)
    thrashing = avoidance(replace(found, stalled=2500))
    assert not any("MemAvailable" in each or "limit" in each for each in thrashing.by)
    assert thrashing.not_by[0].endswith(
        "but tasks stalled for memory 25% of the time, so they are in use (docs/tuning.md)"
    )


def test_the_formula_alone_is_no_remedy_where_the_limit_of_all_pods_was_met_as_well() -> None:
    """`memory.formula: MemAvailable` was proposed, with which the pod goes in the same second for allocatable memory."""
    found = of_page_cache()
    said = avoidance(replace(found, allocatable_met=Origin.DERIVED))
    assert said.by[0] == (
        "memory.formula: MemAvailable and enforceNodeAllocatable: [none] in evictd's configuration: 5Gi of what it held are "
        "clean file pages, which the kernel can drop; with the formula alone it would have gone for "
        "allocatableMemory.available, which counts them always"
    )
    assert not any("less use" in each or "limit" in each for each in said.by)
    said = avoidance(replace(found, allocatable_met=Origin.SET))
    assert not any("MemAvailable" in each or "limit" in each for each in said.by)
    assert said.not_by[0] == (
        "memory.formula: MemAvailable: 5Gi of what it held are clean file pages, but allocatableMemory.available was met as "
        "well, and counts them by every formula"
    )


def test_a_soft_threshold_is_said_to_evict_no_pod_for_page_cache() -> None:
    cached = replace(of_page_cache(), points=((-30.0, GI), (0.0, GI // 2)))
    (soft,) = (each for each in avoidance(cached).not_by if each.startswith("a soft threshold"))
    assert soft.endswith("and no pod goes for a soft threshold that page cache alone holds met")

"""Checks what is read of the thresholds of an eviction."""

from dataclasses import replace

import msgspec

from evictd.core.model.threshold import Origin
from evictd.render.incident.threshold import allocatable_met, min_reclaim
from tests.render.recorded_incident import incident, recorded


def test_the_minimum_reclaim_is_that_of_the_threshold() -> None:
    event = incident().event
    threshold = {"signal": "memory.available", "value": {"quantity": "1Gi"}, "operator": "LessThan"}
    because = {"threshold": {**threshold, "minReclaim": {"quantity": "200Mi"}}}
    assert min_reclaim(replace(event, evidence={"because": because}), 8 << 30) == 200 << 20
    assert min_reclaim(replace(event, evidence={"because": {"threshold": threshold}}), None) == 0
    assert min_reclaim(replace(event, evidence={"because": {"threshold": {"signal": 1}}}), None) == 0


def test_a_met_threshold_of_all_pods_has_its_origin() -> None:
    record = recorded()[0]
    threshold = {"signal": "allocatableMemory.available", "origin": "derived"}
    met = {"kind": "Threshold", "met": True, "threshold": threshold}
    assert allocatable_met(msgspec.structs.replace(record, findings=(met,))) is Origin.DERIVED
    assert allocatable_met(msgspec.structs.replace(record, findings=({**met, "met": False},))) is None

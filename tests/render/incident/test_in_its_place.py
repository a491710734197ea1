"""The pod that would have gone in the place of another one."""

from dataclasses import replace

from evictd.core.model.signal import Resource
from evictd.render.history.recorded_ranking import IncidentRow
from evictd.render.incident.in_its_place import in_its_place

MI = 1 << 20


def row(number: int, **changes: object) -> IncidentRow:
    plain = IncidentRow(
        number=number, pod=f"a/{number}", usage=310 * MI, request=300 * MI, priority=0, protected=False, chosen=False
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


def test_a_pod_behind_the_next_one_is_explained() -> None:
    """One pod was named the next, and another one was said to have gone in the place of the first (world 39)."""
    rows = (row(1, chosen=True), row(2), row(3), row(4, usage=None))
    assert in_its_place("a/2", rows, Resource.MEMORY) == "a/2 (310Mi)"
    passed = "a/3 (310Mi; a/2, which ranks before it, would have been passed over)"
    assert in_its_place("a/3", rows, Resource.MEMORY) == passed
    assert in_its_place("a/9", rows, Resource.MEMORY) == "a/9"
    for changes in ({"protected": True}, {"skipped": "InFlight"}):
        assert in_its_place("a/3", (rows[0], row(2, **changes), rows[2]), Resource.MEMORY) == "a/3 (310Mi)"

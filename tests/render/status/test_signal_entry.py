"""Which signals stand under pressure, and which only repeat another one."""

from typing import Any

import pytest

from evictd.render.status.signal_entry import by_disk, fell_elsewhere, has_stopped, is_pressed, shown_entries


def threshold(*, met: bool = False, kept: bool = False, origin: str = "derived") -> dict[str, Any]:
    return {"met": met, "keptByMinReclaim": kept, "origin": origin, "kind": "hard"}


def entry(name: str, available: int, *thresholds: dict[str, Any]) -> dict[str, Any]:
    return {"signal": name, "available": available, "capacity": 100, "thresholds": list(thresholds)}


def shown(*entries: dict[str, Any]) -> list[str]:
    return [each["signal"] for each in shown_entries({"signals": entries})]


@pytest.mark.parametrize(("met", "kept"), [(True, False), (False, True)])
def test_a_threshold_presses_until_its_minimum_reclaim_is_reached(met: bool, kept: bool) -> None:
    assert is_pressed(threshold(met=met, kept=kept))
    assert not is_pressed(threshold())


def test_only_derived_thresholds_make_a_copy() -> None:
    own = entry("nodefs.available", 9, threshold(origin="set"))
    assert shown(own, entry("containerfs.available", 9, threshold(), threshold())) == ["nodefs.available"]
    mixed = entry("containerfs.available", 9, threshold(), threshold(origin="set"))
    assert shown(own, mixed) == ["nodefs.available", "containerfs.available"]
    assert shown(entry("imagefs.available", 9)) == ["imagefs.available"], "without a threshold it repeats no other"


def test_a_copy_under_pressure_is_shown_only_if_it_says_something_else() -> None:
    """The page drew nodefs and containerfs of one filesystem as two equal cards while evictd acted."""
    own = entry("nodefs.available", 9, threshold(met=True, origin="set"))
    assert shown(own, entry("containerfs.available", 9, threshold(met=True))) == ["nodefs.available"]
    other_amount = entry("containerfs.available", 8, threshold(met=True))
    assert shown(own, other_amount) == ["nodefs.available", "containerfs.available"]
    calm = entry("nodefs.available", 9, threshold(origin="set"))
    assert shown(calm, entry("containerfs.available", 9, threshold(kept=True))) == [
        "nodefs.available",
        "containerfs.available",
    ]


def test_a_fall_has_stopped_where_the_last_readings_show_none() -> None:
    assert has_stopped({"lately": {"overSeconds": 10.0, "fillRate": 0}})
    assert has_stopped({"lately": {"overSeconds": 10.0, "fillRate": -1}})
    assert not has_stopped({"lately": {"overSeconds": 10.0, "fillRate": 1}})
    assert not has_stopped({"lately": None}), "it falls on, or did not fall"
    assert not has_stopped({}), "of an older daemon"


@pytest.mark.parametrize(
    ("elsewhere", "of_pods", "is_most"), [(400, 0, True), (39, 0, False), (400, 400, False), (None, 0, False)]
)
def test_what_an_evicted_pod_took_is_no_fall_beside_pods(elsewhere: int | None, of_pods: int, *, is_most: bool) -> None:
    """`What grew belongs to no pod` stood below `all of it default/reader`: 64Mi of 2.8Gi were the scatter of two readings."""
    growing = {"elsewhere": elsewhere, "ofPods": of_pods, "overSeconds": 40.0}
    assert fell_elsewhere({"fellBefore": 10, "growing": growing}) is is_most
    assert not fell_elsewhere({"fellBefore": 10, "growing": None})


def test_the_signals_of_one_disk_stand_together() -> None:
    disk = {"attribution": {"signal": "nodefs.available"}}
    nodefs, imagefs = entry("nodefs.available", 9) | disk, entry("imagefs.available", 8) | disk
    memory = entry("memory.available", 9)
    assert by_disk([nodefs, memory, imagefs]) == [[nodefs, imagefs], [memory]]
    assert by_disk([nodefs, entry("imagefs.available", 9)]) == [[nodefs], [entry("imagefs.available", 9)]], "two disks"

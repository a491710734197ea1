"""Sums up what pods held that were evicted before the pod of an incident, so that a proposed limit keeps them as well."""

from dataclasses import replace

import pytest

from evictd.core.model.resources import MEMORY
from evictd.core.units.duration import MINUTE
from evictd.core.units.quantity import of_bytes
from evictd.render.history.history import EventKind
from evictd.render.incident.avoidance import avoidance
from evictd.render.incident.incident import Incident
from evictd.render.incident.went_before import WentBefore, went_before
from evictd.world.behaviours import Usage
from evictd.world.loop import play
from tests.playbook import config
from tests.render.recorded_incident import incident as recorded_incident
from tests.world.worlds import GI, MI, evicted, hog, holder, world


def after(**changes: object) -> Incident:
    """The recorded incident after another eviction for memory, of a pod of 1Gi."""
    found = replace(recorded_incident(), host_filled=False)
    because = {**found.event.evidence["because"], "usage": "1Gi"}
    first = replace(found.event, pod="default/first", uid="first", owner="", evidence={"because": because})
    return replace(found, before=(replace(first, **changes),))  # type: ignore[arg-type]


def test_a_limit_leaves_room_for_a_pod_that_went_before() -> None:
    assert went_before(after()) == WentBefore(pods=("default/first",), held=GI)
    limit, *_ = avoidance(after()).by
    assert limit.startswith("a limit of at most 3.48Gi of memory")
    assert limit.endswith(
        "(6Gi that it held, less 1Gi that default/first held before, 1.5Gi that was missing, and 0.5% for rounding)"
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": EventKind.GONE},
        {"dry_run": True},
        {"evidence": {"because": {"signal": "nodefs.available", "usage": "1Gi"}}},
        {"evidence": {"because": {"signal": "memory.available"}}},
        {"evidence": {"because": {"signal": "emptydir-limit", "usage": "1Gi"}}},
    ],
    ids=["no eviction", "dry run", "another resource", "not measured", "a limit of its own"],
)
def test_other_events_hold_nothing(changes: dict[str, object]) -> None:
    assert went_before(after(**changes)).held == 0


def test_a_pod_that_is_there_again_or_of_the_same_owner_counts_in_the_ranking() -> None:
    found = after()
    rows = (*found.ranking, replace(found.ranking[0], pod="default/first", chosen=False))
    assert went_before(replace(found, ranking=rows)).held == 0
    of_owner = replace(found, event=replace(found.event, owner="Job/a"))
    assert went_before(replace(of_owner, before=(replace(found.before[0], owner="Job/a"),))).held == 0


@pytest.mark.parametrize(("limit", "goes"), [(5630 * MI, ["nightly"]), (4170 * MI, [])])
def test_only_that_limit_keeps_the_pod_of_another_team(limit: int, goes: list[str]) -> None:
    """A batch job of low priority went before the leak; the limit that was proposed for the leak let it go again."""
    leak = hog(rate=8 * MI, name="api", memory="1Gi")
    first, *others = leak.pod.containers
    bounded = replace(first, limits={MEMORY: of_bytes(limit)})
    leak = replace(leak, pod=replace(leak.pod, containers=(bounded, *others)))
    job = holder("nightly", 1500 * MI, Usage.MEMORY, priority=-10, memory="512Mi")
    rest = holder("rest", 1900 * MI, Usage.MEMORY, memory="2Gi")
    played = play(
        world(leak, job, rest, memory=8 * GI, duration=15 * MINUTE), config(hard={"memory.available": "500Mi"})
    )
    assert [name for name in evicted(played) if name == "nightly"] == goes

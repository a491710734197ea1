"""Checks which limits of several pods that grew keep all victims of that growth, from the first one on."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from evictd.commands.decided.incident_decided import read_incident
from evictd.commands.played.world_journal import write_world_journal
from evictd.core.model.decision import begun_evictions
from evictd.core.model.signal import Resource
from evictd.core.units.duration import MINUTE
from evictd.core.units.quantity import parse_quantity
from evictd.render.incident.record.earlier import Earlier, HeldThen
from evictd.render.incident.record.incident import Incident
from evictd.render.incident.remedy.avoidance import avoidance
from evictd.render.incident.remedy.now import now_text
from evictd.render.incident.remedy.shared_limits import HAS_TO_HOLD_MORE, shared_limits
from evictd.world.behaviours import Usage
from evictd.world.loop import play
from evictd.world.model import World, WorldPod
from tests.daemon.world import NOW
from tests.playbook import config
from tests.render.recorded_incident import incident
from tests.world.worlds import GI, MI, hog, holder, world

THRESHOLDS = config(hard={"memory.available": "500Mi"})
LEAKS = {"ingest": hog(rate=4 * MI, name="ingest", memory="1Gi", priority=100, owner="ReplicaSet/ingest")}
LEAKS["indexer"] = hog(rate=3 * MI, name="indexer", memory="1Gi", priority=50, owner="ReplicaSet/indexer")


def two_leaks() -> World:
    """Two leaks, for which a notebook goes first; then the one of lower priority, and the other one at last."""
    notebook = holder("notebook", GI, Usage.MEMORY, memory="512Mi")
    return world(*LEAKS.values(), notebook, memory=8 * GI, duration=45 * MINUTE)


@pytest.fixture(scope="module")
def of_two(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Incident]:
    """The incident of each of the three pods."""
    directory: Path = tmp_path_factory.mktemp("leaks")
    journal = write_world_journal(play(two_leaks(), THRESHOLDS), directory, end=NOW)
    return {name: read_incident([journal], f"default/{name}") for name in ("notebook", "indexer", "ingest")}


def limited(spec: WorldPod, amount: str) -> WorldPod:
    (container,) = spec.pod.containers
    container = replace(container, limits={**container.limits, "memory": parse_quantity(amount)})
    return replace(spec, pod=replace(spec.pod, containers=(container,)))


@pytest.mark.parametrize("name", ["notebook", "indexer", "ingest"])
def test_each_eviction_of_two_leaks_has_the_pair_of_limits_that_avoids_all(
    of_two: dict[str, Incident], name: str
) -> None:
    """The last one proposed a limit of one leak alone, with which the other one evicted the same pods."""
    found = of_two[name]
    text = shared_limits(found).text(Resource.MEMORY)
    assert any(text in each for each in avoidance(found).by)
    amounts = {pod: amount for amount, pod in re.findall(r"(\S+) of default/(ingest|indexer)", text)}
    leaks = two_leaks()
    pods = tuple(limited(each, amounts[each.pod.name]) if each.pod.name in amounts else each for each in leaks.pods)
    run = play(replace(leaks, pods=pods), THRESHOLDS)
    assert not [each for cycle in run.cycles for each in begun_evictions(cycle.step.decisions)]
    assert not any(re.match(r"a limit of at most \S+ of memory:", each) for each in avoidance(found).by)


@pytest.mark.parametrize("name", ["notebook", "indexer", "ingest"])
def test_what_is_to_do_names_both_owners(of_two: dict[str, Incident], name: str) -> None:
    """It named one of two leaks, and the other one's next pod filled the node again."""
    now = now_text(of_two[name])
    assert {"ingest", "indexer"} <= set(re.findall(r"(?:default|ReplicaSet)/(ingest|indexer)", now)), now


def test_no_limit_is_proposed_for_pods_that_stand_still_above_it(of_two: dict[str, Incident]) -> None:
    """Limits of 350Mi were proposed for pods that had only started, and stood still at 1.17Gi later: 98 kills at the limit."""
    found = of_two["ingest"]
    limits = shared_limits(found)
    still = replace(found, steady=frozenset({limits.pods[0].pod}))
    assert limits.enough
    assert shared_limits(still) == limits._replace(enough=0)


def then(*pods: HeldThen, missing: int = 1) -> Incident:
    """The recorded incident after another one of the growth of these pods."""
    recorded = replace(incident(), host_filled=False)
    event = replace(recorded.event, pod="batch/nightly", uid="nightly", at="2025-12-31T23:00:30Z")
    return replace(recorded, earlier=(Earlier(event=event, missing=missing, together=pods),))


def test_the_pods_of_one_owner_have_the_lowest_limit_of_theirs() -> None:
    """What the last of six held was proposed for the template, with which the first ones go as they did."""
    pods = [HeldThen(f"default/leak-{n}", "Job/leak", (n + 2) * GI, 0) for n in range(2)]
    alone = HeldThen("default/api", "", 3 * GI, GI)
    text = shared_limits(then(*pods, alone)).text(Resource.MEMORY)
    assert text.startswith(
        "limits of memory of at most 1.99Gi of each pod of Job/leak, 2.98Gi of default/api: the kernel"
    )
    assert (
        "(they held 8Gi together when batch/nightly was evicted at 23:00:30), and again after each restart in" in text
    )
    assert text.endswith(f"; {HAS_TO_HOLD_MORE}"), "50 kernel kills followed where each pod had to hold more"
    of_two = shared_limits(then(alone, alone._replace(pod="default/b")))
    assert HAS_TO_HOLD_MORE not in of_two.text(Resource.MEMORY)


def test_no_limit_is_below_a_request() -> None:
    first = HeldThen("default/a", "", 3 * GI, 3 * GI - 1)
    second = HeldThen("default/b", "", 2 * GI, GI)
    limits = shared_limits(then(first, second, missing=GI // 2))
    assert "2.98Gi of default/a, 1.49Gi of default/b" in limits.text(Resource.MEMORY)
    limits = shared_limits(then(first, second._replace(request=2 * GI - 1), missing=GI // 2))
    assert limits.text(Resource.MEMORY) == ""


def test_one_pod_that_grew_shares_no_limit() -> None:
    assert shared_limits(incident()).text(Resource.MEMORY) == ""

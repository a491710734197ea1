"""Checks that a pod that came to hold what its siblings hold is no leak: more of them were placed on the node than fit."""

from dataclasses import replace
from pathlib import Path

import pytest

from evictd.commands.decided.incident_decided import read_incident
from evictd.commands.played.world_journal import write_world_journal
from evictd.core.model.decision import begun_evictions
from evictd.core.units.duration import MINUTE, SECOND
from evictd.render.incident.cause.overcommit import grown_together, overcommit
from evictd.render.incident.needed import verdict_text
from evictd.render.incident.record.grows_on import GrowsOn
from evictd.render.incident.record.incident import Incident
from evictd.render.incident.record.verdict import Grower
from evictd.render.incident.remedy.avoidance import avoidance
from evictd.render.incident.remedy.now import now_text
from evictd.render.incident.summary import summary_text
from evictd.world.behaviours import Grow, Hold, Usage
from evictd.world.loop import Run, play
from evictd.world.model import NodeSpec, Owner, World, WorldPod
from tests.daemon.world import NOW
from tests.playbook import config, pod
from tests.world.worlds import GI, MI

OWNER = "ReplicaSet/shard"
THRESHOLDS = config(
    hard={"memory.available": "500Mi"}, soft={"memory.available": ("1Gi", "1m")}, max_pod_grace_period_seconds=30
)
CAUSE = f"the 10 pods of {OWNER} here used up to 800Mi each, and no more than 8 of that size fit"
REMEDY = (
    f"a request of 915Mi of memory in all pods of {OWNER} (with the 800Mi that each uses and a tenth more, 9 would be placed): "
    "with it the scheduler places no more than 8 of them here"
)


def shards(count: int, request: str, bound: int = 450 * MI) -> World:
    """So many pods of one owner that creates a new one for each that ends; each settles at 800Mi."""
    uses = (
        Hold(of=Usage.MEMORY, amount=350 * MI),
        Grow(of=Usage.MEMORY, rate=40 * MI // 60, start=MINUTE, bound=bound),
    )
    pods = (WorldPod(pod=pod(f"shard-{n}", memory=request, owner=OWNER), behaviours=uses) for n in range(count))
    node = NodeSpec(memory=8 * GI, unusable_memory=150 * MI)
    return World(
        name="shards",
        node=node,
        pods=tuple(pods),
        owners=(Owner(name=OWNER, delay=3 * SECOND),),
        duration=60 * MINUTE,
    )


def victims(run: Run) -> list[str]:
    return [each.pod.full_name for cycle in run.cycles for each in begun_evictions(cycle.step.decisions)]


@pytest.fixture(scope="module")
def last(tmp_path_factory: pytest.TempPathFactory) -> Incident:
    """The last eviction of too many pods that all settle at 800Mi: a new one grew before it."""
    journal = write_world_journal(play(shards(10, "400Mi"), THRESHOLDS), tmp_path_factory.mktemp("shards"), end=NOW)
    return read_incident([journal], "last")


def test_a_new_pod_that_grew_to_what_its_siblings_hold_is_not_the_one_to_end(last: Incident) -> None:
    """It said to limit or end a pod that only warmed up: the owner replaces it, and the node is short again."""
    assert last.grower is not None
    assert last.grower.pod in last.siblings
    for text in (summary_text(last), now_text(last), verdict_text(last), *avoidance(last).by):
        assert last.grower.pod not in text
    assert summary_text(last).startswith(f"{CAUSE}; {last.event.pod} went; ")
    assert "not needed" not in summary_text(last)
    assert now_text(last).endswith(f"{CAUSE}; to avoid more evictions, {REMEDY}")
    assert verdict_text(last) == (
        f"the end of one of them was needed: {CAUSE}; what grew holds no more than others of them"
    )
    assert REMEDY in avoidance(last).by
    assert not any(each.startswith("a request") for each in avoidance(last).not_by), "that of one pod contradicted it"


def test_the_request_leaves_no_room_for_one_more_and_avoids_the_evictions(last: Incident) -> None:
    over = last.overcommit
    assert over is not None
    assert over.request * (over.fit + 1) > 8 * GI >= over.request * over.fit
    assert victims(play(shards(over.fit, "915Mi"), THRESHOLDS)) == []
    assert victims(play(shards(over.fit + 1, "800Mi"), THRESHOLDS)), "a request of what each uses places one too many"


def test_another_owner_that_requests_too_little_is_named(last: Incident) -> None:
    """A request of 2.6 times the use was proposed, because pods of another owner did not request what they used."""
    other = replace(last.ranking[-1], chosen=False, request=100 * MI, usage=800 * MI)
    batch = tuple(replace(other, pod=f"default/batch-{n}") for n in range(11))
    owners = dict.fromkeys((each.pod for each in batch), "Job/batch")
    rows = (*last.ranking, *batch)
    over = overcommit(replace(last, ranking=rows, pods=len(rows), owners=owners, capacity=16 * GI))
    assert over is not None
    assert 800 * MI < over.request <= 880 * MI
    asked = f"a request of 843Mi of memory in all pods of {OWNER}, and of what is used in Job/batch"
    placed = f"with both the scheduler places no more than 8 pods of {OWNER} here"
    assert over.remedy == f"{asked}, where too little is requested as well: {placed}"


def test_a_leak_is_none(last: Incident, tmp_path: Path) -> None:
    journal = write_world_journal(play(shards(10, "400Mi", bound=8 * GI), THRESHOLDS), tmp_path, end=NOW)
    leak = read_incident([journal], "last")
    assert leak.of_owner > 1
    assert overcommit(leak) is None
    assert last.grower is not None
    larger = tuple(replace(row, usage=801 * MI) if row.pod == last.grower.pod else row for row in last.ranking)
    assert overcommit(replace(last, ranking=larger)) is None, "it outgrew the others"
    outside = GrowsOn(growers=(Grower(pod="", rate=MI),), short_at="23:00:00")
    assert overcommit(replace(last, grows_on=outside)) is None, "something else grows on"
    assert last.verdict is not None
    other = replace(last.verdict, growers=(Grower(pod="default/web", rate=MI), *last.verdict.growers))
    assert overcommit(replace(last, verdict=other)) is None, "another pod grew as well"
    assert overcommit(replace(last, of_owner=1)) is None
    assert overcommit(replace(last, host_filled=True)) is None
    assert overcommit(replace(last, available=4 * GI)) is None, "all of them fit"


def burst(count: int, request: str) -> World:
    """So many pods of one owner that all begin to grow at once, from 350Mi to 1Gi, and cease."""
    world = shards(count, request)
    uses = (
        Hold(of=Usage.MEMORY, amount=350 * MI),
        Grow(of=Usage.MEMORY, rate=4 * MI, start=10 * MINUTE, bound=650 * MI),
    )
    pods = tuple(replace(each, behaviours=uses) for each in world.pods)
    return replace(world, pods=pods, owners=(Owner(name=OWNER, delay=3 * SECOND, here=0.0),))


def test_of_pods_that_all_grew_the_request_is_named_with_which_fewer_are_placed_here(tmp_path: Path) -> None:
    """Only less growth would have avoided it, and to limit them `as well` was said though nothing else grew."""
    journal = write_world_journal(play(burst(10, "400Mi"), THRESHOLDS), tmp_path, end=NOW)
    found = read_incident([journal], "last")
    over = grown_together(found)
    assert over is not None
    assert avoidance(found).by[1:] == (f"if they need so much: {over.remedy}",)
    assert over.request * (over.fit + 1) > 8 * GI
    assert victims(play(burst(over.fit, str(over.request)), THRESHOLDS)) == []
    assert "as well" not in now_text(found)
    other = replace(found.growers[0], pod="default/web")
    assert found.verdict is not None
    verdict = replace(found.verdict, growers=(other, *found.verdict.growers))
    assert grown_together(replace(found, verdict=verdict)) is None, "another pod grew as well"


def test_nothing_is_said_of_pods_whose_usage_is_not_known(last: Incident) -> None:
    rows = tuple(replace(row, usage=None) for row in last.ranking)
    assert overcommit(replace(last, ranking=rows)) is None

"""What is published is the latest snapshot, or none."""

from dataclasses import replace

from evictd.core.model.observation import Problem
from evictd.daemon.telemetry.snapshot import LatestSnapshot
from evictd.errors import CREDENTIALS_SOURCE
from evictd.observe.reading.observer import RUNTIME
from tests.daemon.world import GI, snapshot


def test_nothing_is_published_before_the_first_cycle_and_then_the_latest() -> None:
    published = LatestSnapshot()
    assert published.latest is None
    published.latest = snapshot(GI)
    assert published.latest.version == "1.2.3"


def test_a_snapshot_names_what_could_not_be_observed() -> None:
    seen = snapshot(GI)
    assert seen.blind == ""
    problems = (Problem(source="imagefs", detail="slow"), Problem(source=RUNTIME, detail="refused"))
    assert replace(seen, observation=replace(seen.observation, problems=problems)).blind == "refused"
    assert (
        replace(seen, observation=replace(seen.observation, node=None)).blind == "the node's numbers could not be read"
    )


def test_a_snapshot_knows_since_when_a_fault_lasts_and_the_name_of_a_node_that_is_not_read() -> None:
    first = snapshot(GI).following(None)
    assert (first.node_name, first.blind_since) == ("node-1", None)
    lost = replace(first, wall=first.wall + 1, observation=replace(first.observation, node=None)).following(first)
    later = replace(lost, wall=lost.wall + 1).following(lost)
    assert (later.node_name, later.blind_since) == ("node-1", first.wall + 1)
    assert replace(first, wall=first.wall + 3).following(later).blind_since is None
    rejected = (Problem(source=CREDENTIALS_SOURCE, detail="401"),)
    refused = replace(first, observation=replace(first.observation, problems=rejected)).following(first)
    assert replace(refused, wall=first.wall + 9).following(refused).rejected_since == first.wall

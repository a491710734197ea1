"""The board holds the latest snapshot, or none."""

from dataclasses import replace

from evictd.core.model.observation import Problem
from evictd.daemon.telemetry.snapshot import LatestSnapshot
from evictd.observe.reading.observer import RUNTIME
from tests.daemon.world import GI, snapshot


def test_the_board_is_empty_before_the_first_cycle_and_then_holds_the_latest() -> None:
    board = LatestSnapshot()
    assert board.latest is None
    board.latest = snapshot(GI)
    assert board.latest.version == "1.2.3"


def test_a_snapshot_names_what_could_not_be_observed() -> None:
    seen = snapshot(GI)
    assert seen.blind == ""
    problems = (Problem(source="imagefs", detail="slow"), Problem(source=RUNTIME, detail="refused"))
    assert replace(seen, observation=replace(seen.observation, problems=problems)).blind == "refused"
    assert (
        replace(seen, observation=replace(seen.observation, node=None)).blind == "the node's numbers could not be read"
    )

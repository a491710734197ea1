"""The board holds the latest snapshot, or none."""

from evictd.daemon.snapshot import Board
from tests.daemon.world import GI, snapshot


def test_the_board_is_empty_before_the_first_cycle_and_then_holds_the_latest() -> None:
    board = Board()
    assert board.latest is None
    board.latest = snapshot(GI)
    assert board.latest.version == "1.2.3"

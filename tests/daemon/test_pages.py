"""What each path answers."""

import json

from evictd.core.duration import MINUTE, SECOND
from evictd.core.observation import Problem
from evictd.daemon.http import Page
from evictd.daemon.look import RUNTIME
from evictd.daemon.metrics import Metrics
from evictd.daemon.pages import Health, pages
from evictd.daemon.snapshot import Board
from tests.daemon.world import GI, NOW, snapshot


class House:
    """The pages over one board, at a time of the test's choice."""

    def __init__(self) -> None:
        self.board = Board()
        self.now = NOW
        health = Health(board=self.board, clock=lambda: self.now, interval=lambda: 10 * SECOND)
        self.pages = pages(
            board=self.board,
            metrics=Metrics(self.board),
            health=health,
            clock=lambda: self.now,
            configuration=lambda: {"thresholds": []},
        )

    def get(self, path: str) -> Page:
        return self.pages[path]()


def test_before_the_first_cycle_nothing_is_ready() -> None:
    house = House()
    assert {path: int(house.get(path).status) for path in house.pages} == {
        "/healthz": 503,
        "/readyz": 503,
        "/metrics": 200,
        "/configz": 200,
        "/statusz": 503,
    }


def test_a_loop_that_goes_round_is_healthy_and_one_that_does_not_is_stuck() -> None:
    house = House()
    house.board.latest = snapshot(4 * GI)
    assert house.get("/healthz").body == b"ok\n"
    house.now = NOW + MINUTE
    assert house.get("/healthz").status == 503
    assert b"no sign of life for 1m0s" in house.get("/healthz").body


def test_a_long_cycle_that_goes_on_step_by_step_is_not_stuck() -> None:
    house = House()
    house.board.latest = snapshot(4 * GI)
    house.now = NOW + MINUTE
    house.board.alive_at = NOW + 50 * SECOND
    assert house.get("/healthz").body == b"ok\n"


def test_a_daemon_that_does_not_see_its_pods_is_healthy_but_not_ready() -> None:
    house = House()
    seen = snapshot(4 * GI)
    observation = seen.observation
    problem = Problem(source=RUNTIME, detail="refused")
    object.__setattr__(seen, "observation", type(observation)(node=observation.node, problems=(problem,)))
    house.board.latest = seen
    assert house.get("/healthz").status == 200
    assert house.get("/readyz").body == b"refused\n"


def test_the_documents_are_json() -> None:
    house = House()
    house.board.latest = snapshot(4 * GI)
    assert json.loads(house.get("/statusz").body)["kind"] == "Status"
    assert json.loads(house.get("/configz").body) == {"evictionconfig": {"thresholds": []}}
    assert b"evictd_phase" in house.get("/metrics").body

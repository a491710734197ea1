"""Law Consent over the core and the evictor together: requests, answers, outages and restarts between any two cycles.

Every world that some moves lead to is reached once. `make laws` walks to a depth of `DEPTH` cycles and prints the number of
worlds; as tests, a smaller depth is walked. A model in which withdrawing does nothing, in which a 403 leads to a deletion, or in
which a late answer counts as an overdue victim breaks a law within four cycles.
"""

import pytest

from evictd.core.model.config import EvictionConfig, EvictionMethod
from evictd.core.units.duration import SECOND
from tests.laws.consent_world import TURNS, ConsentWorld, Reply, Turn
from tests.laws.small_world import LIMIT
from tests.playbook import config

DEPTH = 7
SHORT_DEPTHS = {"soft": 4, "hard": 3}
SOFT = config(
    soft={"memory.available": (str(LIMIT), "5s")}, max_pod_grace_period_seconds=60, eviction_timeout=20 * SECOND
)
HARD = config(hard={"memory.available": str(LIMIT)}, eviction_timeout=20 * SECOND)
MODELS = {
    f"{name}, {method.value}": (settings, method)
    for name, settings in (("soft", SOFT), ("hard", HARD))
    for method in (EvictionMethod.AUTO, EvictionMethod.EVICTION_API)
}
Path = tuple[Turn, ...]


def reached(path: Path, settings: EvictionConfig, method: EvictionMethod) -> ConsentWorld:
    """The world after these moves; the laws are checked of the last one."""
    world = ConsentWorld(settings, method)
    for turn in path[:-1]:
        world.move(turn)
    if path:
        check(world, path, soft=settings is SOFT, named=method is EvictionMethod.EVICTION_API)
    return world


def check(world: ConsentWorld, path: Path, *, soft: bool, named: bool) -> None:
    """Make the last move, and hold what happens in it against the laws."""
    requests, proposals = len(world.server.asked), world.evictor.unanswered()
    decided, withdrawn = len(world.decided), len(world.withdrawn)
    asked_before = {uid for _, uid in world.server.asked}
    world.move(path[-1])
    sent, chosen = world.server.asked[requests:], [each.pod.uid for each in world.decided[decided:]]
    # One proposal at a time.
    assert len(world.evictor.unanswered()) <= 1, path
    # A proposal that was withdrawn is not asked for, unless it is chosen anew.
    dropped = set(world.withdrawn[withdrawn:]) & proposals - set(chosen)
    assert not [each for each in sent if each[1] in dropped], path
    # No second victim while the first one was never asked for and still may be.
    waiting = {v.uid for v in world.state.in_flight if v.gone_at is None and not v.withdrawn} - set(chosen)
    if soft and chosen:
        assert waiting <= asked_before, path
    # Where the administrator chose the Eviction API, a refusal stays one: nothing else is sent for a soft threshold.
    if soft and named:
        assert {verb for verb, _ in sent} <= {"evict"}, path
    # A pod is deleted only if it is a victim of the ledger, or was one when the server was asked.
    assert {uid for uid, deleting in world.server.pods.items() if deleting} <= {each.pod.uid for each in world.decided}


def walk(name: str, depth: int) -> str:
    """Go to every world that so many moves lead to, and check each move on the way."""
    settings, method = MODELS[name]
    frontier: list[Path] = [()]
    seen, moves = {reached((), settings, method).key}, 0
    for _ in range(depth):
        following: list[Path] = []
        for path in frontier:
            for turn in TURNS:
                moves += 1
                world = reached((*path, turn), settings, method)
                if world.key not in seen:
                    seen.add(world.key)
                    following.append((*path, turn))
        frontier = following
    assert len(seen) > 10
    return f"core and evictor, {name}: depth {depth}, {len(seen)} states, {moves} transitions"


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_consent_holds_between_the_core_and_the_evictor(name: str) -> None:
    print(walk(name, SHORT_DEPTHS[name.partition(",")[0]]))


def test_a_proposal_outlasts_an_outage_alone_and_goes_when_the_server_is_back() -> None:
    """The model shows what it is about: one victim in an outage, none after its end, one request when the server is back."""
    world = ConsentWorld(SOFT, EvictionMethod.AUTO)
    for _ in range(6):
        world.move(Turn(Reply.AWAY))
    assert [each.pod.uid for each in world.decided] == ["hog"]
    assert world.server.asked == []
    world.move(Turn(Reply.DONE))
    world.move(Turn(Reply.DONE))
    assert world.server.asked == [("evict", "hog")]
    assert world.dead == {"hog"}


def test_a_proposal_is_withdrawn_when_the_shortage_ends_before_the_answer() -> None:
    world = ConsentWorld(SOFT, EvictionMethod.AUTO)
    for turn in (Turn(Reply.AWAY), Turn(Reply.AWAY), Turn(Reply.AWAY), Turn(Reply.AWAY, ends=True), Turn(Reply.DONE)):
        world.move(turn)
    assert (world.withdrawn, world.server.asked) == (["hog"], [])


def test_a_restart_in_an_outage_is_no_reason_for_a_second_victim() -> None:
    """The model found it: nothing told the core that the previous run's victim was not answered, so it counted as overdue."""
    world = ConsentWorld(SOFT, EvictionMethod.AUTO)
    for turn in (Turn(Reply.DONE), Turn(Reply.AWAY), *(Turn(Reply.AWAY, restarts=True) for _ in range(6))):
        world.move(turn)
    assert [each.pod.uid for each in world.decided] == ["hog"]


def main() -> None:
    """Walk every model to the full depth."""
    for name in MODELS:
        print(walk(name, DEPTH), flush=True)


if __name__ == "__main__":
    main()

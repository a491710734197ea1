"""What an earlier life hands on, and what of it is refused."""

from dataclasses import replace
from pathlib import Path

import pytest

from evictd.codec.state import encode_state
from evictd.core.decision import ReportConditions
from evictd.core.image_gc import ImageRecord
from evictd.core.release import RECLAIM_TIMEOUT
from evictd.core.state import Reclaiming, State, Watching
from evictd.daemon.remembered import remember
from evictd.daemon.state_file import StateFile
from tests.daemon.world import DISK, GI, NOW, observe, step


@pytest.fixture
def file(tmp_path: Path) -> StateFile:
    return StateFile(tmp_path / "state.json", "boot")


def refuse(source: str, detail: str) -> None:
    raise AssertionError(f"{source}: {detail}")


def written(file: StateFile, state: State) -> None:
    file.write({"state": encode_state(state), "images": {"a": [1, None]}, "evicted": ["u"], "runningSince": 7})


def test_everything_comes_back(file: StateFile) -> None:
    state = step(GI // 2).state
    written(file, state)
    found = remember(file, refuse, NOW)
    assert found.state == replace(state, reported=False)
    assert (found.images, found.evicted, found.running_since) == ({"a": ImageRecord(1, None)}, ("u",), 7)


def test_a_new_life_says_again_which_conditions_hold(file: StateFile) -> None:
    """Nothing has changed since the crash; the API server and the heartbeat have to hear of it all the same."""
    pressed = step(GI // 2).state
    assert pressed.reported
    written(file, pressed)
    again = step(GI // 2, remember(file, refuse, NOW).state)
    assert [each.conditions for each in again.decisions if isinstance(each, ReportConditions)] == [
        pressed.node_conditions
    ]


def test_collectors_that_ended_with_their_process_are_not_waited_for(file: StateFile) -> None:
    phase = Reclaiming(threshold=DISK, due=(DISK,), before=observe(GI), until=NOW + RECLAIM_TIMEOUT)
    written(file, State(phase=phase))
    assert remember(file, refuse, NOW).state.phase == Watching()


def test_nothing_written_is_a_fresh_start(file: StateFile) -> None:
    found = remember(file, refuse, NOW)
    assert (found.state, found.running_since) == (State(), NOW)


@pytest.mark.parametrize(
    "remembered",
    [
        {},
        {"state": {}, "images": {}, "evicted": [], "runningSince": 1},
        {"state": encode_state(State()), "images": [], "evicted": [], "runningSince": 1},
        {"state": encode_state(State()), "images": {}, "evicted": 5, "runningSince": 1},
        {"state": encode_state(State()), "images": {}, "evicted": [], "runningSince": "yesterday"},
    ],
)
def test_what_cannot_be_used_is_set_aside_with_one_warning(file: StateFile, remembered: dict[str, object]) -> None:
    file.write(remembered)
    complaints: list[tuple[str, str]] = []
    found = remember(file, lambda source, detail: complaints.append((source, detail)), NOW)
    assert found.state == State()
    assert len(complaints) == 1
    assert "set aside" in complaints[0][1]
    assert not file.path.exists()

"""Checkpoints: what the previous run left, and which files are refused."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evictd.codec.state import encode_state
from evictd.core.eviction.accounts.absence import LONG_ABSENCE
from evictd.core.gc.image_gc import ImageRecord
from evictd.core.model.decision import ReportConditions
from evictd.core.model.signal import Filesystem
from evictd.core.model.state import Backoff, BudgetRefusal, Collection, OwnerBackoff, State
from evictd.core.units.duration import SECOND
from evictd.daemon.store.checkpoint import RESTARTS_TOGETHER, CheckpointSource, encode_checkpoint, load_checkpoint
from evictd.daemon.store.state_file import StateFile
from tests.daemon.world import GI, NOW, step
from tests.recorded_errors import NoErrors, RecordedErrors


@pytest.fixture
def file(tmp_path: Path) -> StateFile:
    return StateFile(tmp_path / "state.json", "boot")


def written(file: StateFile, state: State) -> None:
    source = CheckpointSource(images=lambda: {"a": ImageRecord(1, None)}, evicted={"u"}, running_since=7)
    file.write(encode_checkpoint(source.checkpoint(state)))


def test_everything_comes_back(file: StateFile) -> None:
    state = step(GI // 2).state
    written(file, state)
    found = load_checkpoint(file, NoErrors(), NOW)
    assert found.state == replace(state, reported=False, started_at=NOW)
    assert (found.images, found.evicted, found.running_since) == ({"a": ImageRecord(1, None)}, ("u",), 7)


def test_each_run_reports_its_conditions_at_the_start(file: StateFile) -> None:
    """Nothing has changed since the crash, but the reporters start without any condition."""
    pressed = step(GI // 2).state
    assert pressed.reported
    written(file, pressed)
    again = step(GI // 2, load_checkpoint(file, NoErrors(), NOW).state)
    assert [each.conditions for each in again.decisions if isinstance(each, ReportConditions)] == [
        pressed.node_conditions
    ]


@pytest.mark.parametrize(("absence", "kept"), [(LONG_ABSENCE, True), (LONG_ABSENCE + 1, False)])
def test_a_grace_period_does_not_pass_while_evictd_is_away(file: StateFile, absence: int, *, kept: bool) -> None:
    """It was stopped for three hours, and at the start a pod was evicted for a soft threshold met since a second."""
    pressed = step(GI // 2).state
    written(file, pressed)
    found = load_checkpoint(file, NoErrors(), NOW + absence).state
    assert pressed.thresholds_first_observed_at
    assert found.thresholds_first_observed_at == (pressed.thresholds_first_observed_at if kept else {})
    assert found.node_conditions == pressed.node_conditions


def test_a_run_measures_pods_anew_but_not_one_that_follows_soon_after_another(file: StateFile) -> None:
    """A daemon that ends every few seconds would wait for measurements for ever."""
    state = step(GI // 2).state
    for began, now, expected in (
        (None, NOW, NOW),
        (NOW - RESTARTS_TOGETHER + 1, NOW, NOW - RESTARTS_TOGETHER + 1),
        (NOW - RESTARTS_TOGETHER, NOW, NOW),
        (NOW + 1, NOW, NOW),
    ):
        written(file, replace(state, started_at=began))
        assert load_checkpoint(file, NoErrors(), now).state.started_at == expected


def test_the_last_reading_tells_the_last_cycle_where_an_earlier_evictd_wrote_none(file: StateFile) -> None:
    """Else the first start after an update counts the whole time since then against a victim."""
    pressed = step(GI // 2).state
    written(file, replace(pressed, last_cycle_at=None))
    found = load_checkpoint(file, NoErrors(), NOW + LONG_ABSENCE + SECOND).state
    assert found.last_cycle_at == max(seen.time or 0 for seen in pressed.last_seen.values())
    assert found.thresholds_first_observed_at == {}
    written(file, State())
    assert load_checkpoint(file, NoErrors(), NOW).state.last_cycle_at is None


def test_nothing_written_is_a_fresh_start(file: StateFile) -> None:
    found = load_checkpoint(file, NoErrors(), NOW)
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
def test_an_unusable_file_is_set_aside_with_one_warning(file: StateFile, remembered: dict[str, object]) -> None:
    file.write(remembered)
    errors = RecordedErrors()
    found = load_checkpoint(file, errors, NOW)
    assert found.state == State()
    assert len(errors) == 1
    assert "set aside" in errors[0][1]
    assert not file.path.exists()


YEARS = 8000 * 365 * 24 * 3600 * 10**9
VICTIM = step(GI // 2).state.in_flight[0]


@pytest.mark.parametrize(
    "change",
    [
        {"in_flight": (replace(VICTIM, until=YEARS),)},
        {"in_flight": (replace(VICTIM, since=YEARS, until=YEARS),)},
        {"collections": {Filesystem.NODEFS: Collection(begun=1, until=YEARS)}},
        {"backoff": Backoff(owners={"o": OwnerBackoff(level=0, evicted_at=1, until=YEARS)})},
        {"backoff": Backoff(budgets={"u": BudgetRefusal(first_at=1, last_at=1, until=1, held_until=YEARS)})},
        {"thresholds_first_observed_at": dict.fromkeys(step(GI // 2).state.thresholds_met, YEARS)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_time_in_the_far_future_holds_no_eviction(file: StateFile, change: dict[str, Any]) -> None:
    """Times are of this boot's clock: a deadline in the year 9999 is damage, and the file is set aside."""
    written(file, step(GI // 2).state)
    assert load_checkpoint(file, NoErrors(), NOW).state.in_flight == (VICTIM,)
    written(file, replace(step(GI // 2).state, **change))
    assert load_checkpoint(file, RecordedErrors(), NOW).state == State()

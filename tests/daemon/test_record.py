"""What is kept on disk, written by another thread."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from evictd.codec.journal import decode_entry
from evictd.core.state import State
from evictd.core.stats import DiskUsage
from evictd.core.synchronize import synchronize
from evictd.daemon.journal_file import JournalFile
from evictd.daemon.record import Cycle, Recorder, usage_of
from evictd.daemon.state_file import StateFile
from evictd.daemon.writer import Writer
from tests.daemon.world import CONFIG, GI, HOG, NOW, WALL, observe, step, uses


@pytest.fixture
def complaints() -> list[tuple[str, str]]:
    return []


@pytest.fixture
def recorder(tmp_path: Path, complaints: list[tuple[str, str]]) -> Recorder:
    return Recorder(
        Writer(lambda source, detail: complaints.append((source, detail))),
        state_file=StateFile(tmp_path / "state.json", "boot"),
        journal=JournalFile(tmp_path / "journal.jsonl"),
        logs_dir=tmp_path / "logs",
        extras=lambda: {"images": {}},
    )


def pressed() -> Cycle:
    return Cycle(now=NOW, wall=WALL, before=State(), observation=observe(GI // 2), config=CONFIG, step=step(GI // 2))


def test_a_cycle_can_be_read_back_and_decided_again(recorder: Recorder, tmp_path: Path) -> None:
    recorder.journal(pressed(), dry_run=False)
    assert recorder.close()
    entry = decode_entry((tmp_path / "journal.jsonl").read_bytes())
    again = synchronize(entry.state, entry.observation, entry.config, entry.now)
    assert again.decisions == step(GI // 2).decisions
    assert [decision["kind"] for decision in entry.decisions] == ["ReportConditions", "RecordEvent", "EvictPod", "Wait"]


def test_the_victim_s_usage_and_last_words_stand_beside_it(recorder: Recorder, tmp_path: Path) -> None:
    logs = tmp_path / "logs" / f"default_hog_{HOG.uid}" / "main"
    logs.mkdir(parents=True)
    (logs / "0.log").write_text("so long")
    recorder.journal(pressed(), dry_run=False)
    recorder.close()
    extra = json.loads((tmp_path / "journal.jsonl").read_bytes())["extra"]
    assert extra["lastWords"][HOG.uid]["logs"] == {"main": "so long"}
    assert extra["lastWords"][HOG.uid]["usage"]["memoryWorkingSetBytes"] == 6 * GI


def test_in_a_dry_run_nobody_has_last_words(recorder: Recorder, tmp_path: Path) -> None:
    recorder.journal(pressed(), dry_run=True)
    recorder.close()
    assert json.loads((tmp_path / "journal.jsonl").read_bytes())["extra"] == {"dryRun": True, "lastWords": {}}


def test_the_state_is_written_when_something_worth_keeping_changed(recorder: Recorder, tmp_path: Path) -> None:
    state = step(4 * GI).state
    recorder.save(state)
    recorder.close()
    written = (tmp_path / "state.json").stat().st_mtime_ns
    again = Recorder(
        Writer(lambda *_: None),
        state_file=StateFile(tmp_path / "state.json", "boot"),
        journal=JournalFile(tmp_path / "journal.jsonl"),
        logs_dir=tmp_path,
        extras=dict,
    )
    again.save(state)
    again.save(replace(state, last_observations={}))  # new numbers alone are no reason
    again.close()
    assert (tmp_path / "state.json").stat().st_mtime_ns >= written
    assert json.loads((tmp_path / "state.json").read_text())["remembered"]["state"]["lastObservations"]


def test_a_disk_that_refuses_is_complained_about(
    recorder: Recorder, tmp_path: Path, complaints: list[tuple[str, str]]
) -> None:
    (tmp_path / "state.json").mkdir()
    recorder.save(State())
    recorder.replace_file(tmp_path / "nowhere" / "conditions.json", b"{}")
    recorder.close()
    assert [source for source, _ in complaints] == ["state", "conditions.json"]


def test_unknown_usage_is_null_and_not_zero() -> None:
    stats = replace(uses(HOG, 5), ephemeral_storage=DiskUsage(7, None))
    assert usage_of(stats) == {
        "memoryWorkingSetBytes": 5,
        "ephemeralStorageUsedBytes": 7,
        "inodesUsed": None,
        "processCount": None,
    }

"""What is kept on disk, written by another thread."""

import json
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from evictd.codec.records.journal import decode_entry
from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.observation import Outcomes, Problem
from evictd.core.model.state import State
from evictd.core.units.duration import SECOND
from evictd.daemon.store.journal import JournalFile
from evictd.daemon.store.recorder import MOST_UNWRITTEN, Cycle, Recorder
from evictd.daemon.store.state_file import StateFile
from evictd.worker import JobQueue
from tests.daemon.world import CONFIG, GI, HOG, MEMORY_OF_NOTHING, NOW, WALL, observe, step
from tests.kube.waiting import eventually
from tests.recorded_errors import NoErrors, RecordedErrors


@pytest.fixture
def errors() -> RecordedErrors:
    return RecordedErrors()


@pytest.fixture
def recorder(tmp_path: Path, errors: RecordedErrors) -> Recorder:
    return Recorder(
        JobQueue(errors),
        state_file=StateFile(tmp_path / "state.json", "boot"),
        journal=JournalFile(tmp_path / "journal.jsonl"),
        logs_dir=tmp_path / "logs",
        memory=MEMORY_OF_NOTHING,
    )


def hang(jobs: JobQueue, over: threading.Event) -> None:
    """Let the disk hang until `over` is set."""

    def wait() -> None:
        over.wait(20)

    jobs.submit("test", wait)


def pressed() -> Cycle:
    return Cycle(now=NOW, wall=WALL, before=State(), observation=observe(GI // 2), config=CONFIG, step=step(GI // 2))


def test_a_cycle_can_be_read_back_and_decided_again(recorder: Recorder, tmp_path: Path) -> None:
    recorder.journal(pressed())
    assert recorder.close()
    entry = decode_entry((tmp_path / "journal.jsonl").read_bytes())
    again = synchronize(entry.state, entry.observation, entry.config, entry.now)
    assert again.decisions == step(GI // 2).decisions
    assert [decision["kind"] for decision in entry.decisions] == ["ReportConditions", "RecordEvent", "EvictPod", "Wait"]


def test_a_victim_s_usage_and_log_tails_are_journaled(recorder: Recorder, tmp_path: Path) -> None:
    logs = tmp_path / "logs" / f"default_hog_{HOG.uid}" / "main"
    logs.mkdir(parents=True)
    (logs / "0.log").write_text("so long")
    recorder.journal(pressed())
    recorder.close()
    extra = json.loads((tmp_path / "journal.jsonl").read_bytes())["extra"]
    assert extra["lastWords"][HOG.uid]["logs"] == {"main": "so long"}
    assert extra["lastWords"][HOG.uid]["usage"]["memoryWorkingSetBytes"] == 6 * GI


def test_log_tails_can_be_left_out(tmp_path: Path, errors: RecordedErrors) -> None:
    """`journal.logTails: false`: logs may contain secrets."""
    recorder = Recorder(
        JobQueue(errors),
        state_file=StateFile(tmp_path / "state.json", "boot"),
        journal=JournalFile(tmp_path / "journal.jsonl"),
        logs_dir=None,
        memory=MEMORY_OF_NOTHING,
    )
    recorder.journal(pressed())
    recorder.close()
    words = json.loads((tmp_path / "journal.jsonl").read_bytes())["extra"]["lastWords"][HOG.uid]
    assert list(words) == ["usage"]


def test_a_dry_run_reads_no_log_tails(recorder: Recorder, tmp_path: Path) -> None:
    seen = replace(observe(GI // 2), outcomes=Outcomes(dry_run=True))
    recorder.journal(replace(pressed(), observation=seen, step=synchronize(State(), seen, CONFIG, NOW)))
    recorder.close()
    assert json.loads((tmp_path / "journal.jsonl").read_bytes())["extra"] == {"dryRun": True, "lastWords": {}}


def test_the_state_is_written_when_something_worth_keeping_changed(recorder: Recorder, tmp_path: Path) -> None:
    state = step(4 * GI).state
    recorder.save(state)
    recorder.close()
    written = (tmp_path / "state.json").stat().st_mtime_ns
    again = Recorder(
        JobQueue(NoErrors()),
        state_file=StateFile(tmp_path / "state.json", "boot"),
        journal=JournalFile(tmp_path / "journal.jsonl"),
        logs_dir=tmp_path,
        memory=MEMORY_OF_NOTHING,
    )
    again.save(state)
    again.save(replace(state, last_seen={}))  # new numbers alone are no reason
    again.close()
    assert (tmp_path / "state.json").stat().st_mtime_ns >= written
    assert json.loads((tmp_path / "state.json").read_text())["remembered"]["state"]["lastSeen"]


def test_a_state_that_the_queue_refused_is_written_by_a_later_save(tmp_path: Path, errors: RecordedErrors) -> None:
    """The disk hung for long, and the state is the same since."""
    jobs, over = JobQueue(errors), threading.Event()
    hang(jobs, over)
    recorder = Recorder(
        jobs,
        state_file=StateFile(tmp_path / "state.json", "boot"),
        journal=JournalFile(tmp_path / "journal.jsonl"),
        logs_dir=None,
        memory=MEMORY_OF_NOTHING,
    )
    while jobs.submit("test", lambda: None):
        pass
    recorder.save(State())
    over.set()
    eventually((tmp_path / ".emergency").exists)
    recorder.save(State())
    assert recorder.close()
    assert (tmp_path / "state.json").exists()


def test_few_records_wait_for_a_disk_that_hangs(recorder: Recorder, tmp_path: Path) -> None:
    """Each holds a whole observation, and evictd's memory is bounded."""
    over = threading.Event()
    hang(recorder._jobs, over)
    for _ in range(3 * MOST_UNWRITTEN):
        recorder.journal(pressed())
    over.set()
    assert recorder.close()
    assert 0 < len((tmp_path / "journal.jsonl").read_bytes().splitlines()) <= MOST_UNWRITTEN


def test_a_disk_that_refuses_is_reported(recorder: Recorder, tmp_path: Path, errors: RecordedErrors) -> None:
    (tmp_path / "state.json").mkdir()
    (tmp_path / "conditions.json").mkdir()
    recorder.save(State())
    recorder.replace_file(tmp_path / "conditions.json", b"{}")
    recorder.close()
    assert [source for source, _ in errors] == ["state", "conditions.json"]


def test_a_file_that_cannot_be_written_is_a_problem_until_it_can(recorder: Recorder, tmp_path: Path) -> None:
    spare = tmp_path / ".state.json.spare"
    recorder.save(State())
    eventually(lambda: spare.exists() and (tmp_path / "state.json").exists())
    assert recorder.problems() == ()
    spare.unlink()
    spare.mkdir()
    recorder.save(State(), always=True)
    eventually(recorder.problems)
    assert recorder.problems() == (Problem(source="state", detail=f"not written: {spare}: Is a directory"),)
    spare.rmdir()
    recorder.save(State(), always=True)
    eventually(lambda: not recorder.problems())


def test_what_is_waited_for_is_saved_with_the_time_of_a_late_cycle(recorder: Recorder, tmp_path: Path) -> None:
    """A start after a crash took the whole calm time before it for an absence, and began a soft grace period anew."""
    file = tmp_path / "state.json"

    def last_cycle() -> object:
        return json.loads(file.read_text())["remembered"]["state"]["lastCycleAt"] if file.exists() else None

    met = replace(step(2 * GI - 1).state, last_cycle_at=NOW)
    assert met.thresholds_first_observed_at
    recorder.save(met)
    recorder.save(replace(met, last_cycle_at=NOW + 10 * SECOND))
    recorder.save(replace(met, last_cycle_at=NOW + 20 * SECOND))
    eventually(lambda: last_cycle() == NOW + 20 * SECOND)
    calm = replace(met, thresholds_first_observed_at={}, last_cycle_at=NOW + 30 * SECOND)
    recorder.save(calm)
    recorder.save(replace(calm, last_cycle_at=NOW + 90 * SECOND))
    recorder.close()
    assert last_cycle() == NOW + 30 * SECOND, "nothing is waited for: the file stays as it is"

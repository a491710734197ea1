"""Writes state and journal on real filesystems that are full to the last byte."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from evictd.core.model.state import State
from evictd.daemon.store.journal import RESERVED_BYTES, JournalFile
from evictd.daemon.store.recorder import Cycle, Recorder
from evictd.daemon.store.state_file import StateFile
from evictd.worker import JobQueue
from tests.daemon.world import CONFIG, GI, MEMORY_OF_NOTHING, NOW, WALL, observe, step
from tests.mounted import tmpfs
from tests.recorded_errors import RecordedErrors

pytestmark = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount")]


@pytest.fixture(params=["tmpfs", "ext4"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A filesystem of 8 MiB."""
    with tmpfs(tmp_path / "disk", size="16m" if request.param == "ext4" else "8m") as point:
        yield point if request.param == "tmpfs" else _ext4(point)


def _ext4(below: Path) -> Path:
    if shutil.which("mkfs.ext4") is None:
        pytest.skip("needs mkfs.ext4")
    image, point = below / "image", below / "ext4"
    with image.open("wb") as file:
        file.truncate(8 << 20)
    subprocess.run(["mkfs.ext4", "-q", "-m", "0", str(image)], check=True)
    point.mkdir()
    if subprocess.run(["mount", "-o", "loop", str(image), str(point)], check=False).returncode != 0:
        pytest.skip("needs loop devices")
    return point


def fill(folder: Path) -> Path:
    """Take every byte that is left."""
    flood = folder / "flood"
    with flood.open("wb", buffering=0) as file:
        for size in (1 << 16, 512, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue
    return flood


def recorder(folder: Path, errors: RecordedErrors) -> Recorder:
    return Recorder(
        JobQueue(errors),
        state_file=StateFile(folder / "state.json", "boot"),
        journal=JournalFile(folder / "journal.jsonl"),
        logs_dir=folder / "logs",
        memory=MEMORY_OF_NOTHING,
    )


def pressed() -> Cycle:
    return Cycle(now=NOW, wall=WALL, before=State(), observation=observe(GI // 2), config=CONFIG, step=step(GI // 2))


def settled(ours: Recorder) -> None:
    """Wait until the jobs submitted so far are done."""
    done: list[bool] = []
    while not ours._jobs.submit("test", lambda: done.append(True)):
        pass
    while not done:
        os.sched_yield()


def test_the_state_and_the_journal_are_written_on_a_full_disk(disk: Path) -> None:
    """Nothing was written before the disk was full but the reservations."""
    errors = RecordedErrors()
    ours = recorder(disk, errors)
    settled(ours)
    fill(disk)
    state = step(GI // 2).state
    for number in range(3):
        ours.journal(pressed())
        ours.save(state if number % 2 else State(), always=True)
    ours.save(state, always=True)
    assert ours.close()
    assert errors == []
    remembered = json.loads((disk / "state.json").read_text())["remembered"]
    assert remembered["state"]["inFlight"]
    assert len((disk / "journal.jsonl").read_text().splitlines()) == 3


def test_what_a_full_disk_refused_is_written_later_and_reported_once(disk: Path) -> None:
    errors = RecordedErrors()
    flood = fill(disk)
    ours = recorder(disk, errors)
    state = step(GI // 2).state
    ours.journal(pressed())
    for _ in range(4):
        ours.save(state)
        settled(ours)
    assert sorted({source for source, _ in errors}) == ["journal", "state"]
    assert len(errors) == 2
    flood.unlink()
    ours.save(state)
    settled(ours)
    assert ours.close()
    assert json.loads((disk / "state.json").read_text())["remembered"]["state"]["inFlight"]
    entries = [line for line in (disk / "journal.jsonl").read_bytes().splitlines() if line.startswith(b"{")]
    assert json.loads(entries[-1])["decisions"]


def test_conditions_are_written_on_a_full_disk(disk: Path) -> None:
    """Their room is reserved by the first report."""
    errors = RecordedErrors()
    ours = recorder(disk, errors)
    path = disk / "conditions.json"
    ours.replace_file(path, b'{"conditions": []}')
    settled(ours)
    fill(disk)
    for number in range(3):
        ours.replace_file(path, json.dumps({"conditions": ["x" * 700, number]}).encode())
        settled(ours)
        assert json.loads(path.read_text())["conditions"][1] == number
    assert ours.close()
    assert errors == []


def test_the_journal_is_no_longer_than_its_records(tmp_path: Path) -> None:
    journal = JournalFile(tmp_path / "journal.jsonl")
    journal.append(b"{}\n")
    assert journal.path.stat().st_size == 3
    assert journal.path.stat().st_blocks * 512 >= RESERVED_BYTES
    journal.close()


@pytest.mark.parametrize("left", ["before the first rename", "between the renames"])
def test_a_crash_between_the_steps_of_a_write_costs_nothing(tmp_path: Path, left: str) -> None:
    file = StateFile(tmp_path / "state.json", "boot")
    file.write({"n": 1})
    file.write({"n": 2})
    old, spare = tmp_path / ".state.json.old", tmp_path / ".state.json.spare"
    if left == "before the first rename":
        old.hardlink_to(file.path)
    else:
        spare.rename(old)
    again = StateFile(file.path, "boot")
    assert again.read() == {"n": 2}
    again.write({"n": 3})
    assert again.read() == {"n": 3}
    again.write({"n": 4})
    assert again.read() == {"n": 4}

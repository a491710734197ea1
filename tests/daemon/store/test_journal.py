"""The journal: lines that can be read back, files that do not grow for ever, a disk that refuses."""

import errno
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from evictd.codec.records.journal import encode_entry
from evictd.core.model.state import State
from evictd.daemon.kubelet_evictions import KubeletEviction, encode_kubelet_eviction
from evictd.daemon.store.journal import JournalFile
from tests.daemon.world import CONFIG, GI, NOW, observe, step


def line(record: dict[str, object]) -> bytes:
    return json.dumps(record).encode() + b"\n"


def records(path: Path) -> list[dict[str, int]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_records_come_back_in_order(tmp_path: Path) -> None:
    journal = JournalFile(tmp_path / "journal.jsonl")
    for number in range(3):
        journal.append(line({"n": number}))
    journal.close()
    journal.append(line({"n": 3}))
    journal.close()
    assert [record["n"] for record in records(journal.path)] == [0, 1, 2, 3]


def test_a_record_that_an_earlier_run_left_cut_short_costs_no_other(tmp_path: Path) -> None:
    """A daemon that is killed while it writes, or that a full disk refuses the rest."""
    path = tmp_path / "journal.jsonl"
    path.write_bytes(line({"n": 0}) + line({"n": 1})[:4])
    journal = JournalFile(path)
    journal.append(line({"n": 2}))
    journal.append(line({"n": 3}))
    journal.close()
    assert path.read_bytes() == line({"n": 0}) + line({"n": 1})[:4] + b"\n" + line({"n": 2}) + line({"n": 3})


def test_a_record_that_lacks_only_its_end_costs_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk took all of a record that begins a line of its own, but for the last byte."""
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b"cut")
    journal, write = JournalFile(path), os.write
    with monkeypatch.context() as patch, pytest.raises(OSError, match="No space left"):
        patch.setattr(os, "write", lambda fd, data: write(fd, data[:-1]))
        journal.append(b"one\n")
    journal.append(b"two\n")
    journal.close()
    assert path.read_bytes() == b"cut\none\ntwo\n"


def test_a_single_file_begins_anew_when_it_is_full(tmp_path: Path) -> None:
    """`journal.maxFiles: 1`."""
    journal = JournalFile(tmp_path / "journal.jsonl", max_bytes=100, kept=1)
    for number in range(9):
        journal.append(b'{"number":%d,"text":"%s"}\n' % (number, b"x" * 20))
    journal.close()
    assert [json.loads(line)["number"] for line in (tmp_path / "journal.jsonl").read_text().splitlines()] == [8]
    assert [path.name for path in tmp_path.iterdir()] == ["journal.jsonl"]


def test_a_full_file_makes_room_for_a_new_one_and_only_so_many_are_kept(tmp_path: Path) -> None:
    journal = JournalFile(tmp_path / "journal.jsonl", max_bytes=100, kept=3)
    for number in range(100):
        journal.append(line({"n": number, "filler": "x" * 40}))
    journal.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "journal.1.jsonl",
        "journal.2.jsonl",
        "journal.jsonl",
    ]
    assert records(tmp_path / "journal.jsonl")[-1]["n"] == 99
    assert all(path.stat().st_size <= 100 for path in tmp_path.iterdir())


def records_of(number: int, *kinds: str) -> bytes:
    decisions = [{"kind": kind} for kind in kinds]
    return msgspec.json.encode({"n": number, "decisions": decisions, "findings": [{"why": "x" * 100}]}) + b"\n"


def test_evictions_are_kept_longest(tmp_path: Path) -> None:
    """64 MiB turned over in 14 minutes, and the evictions before that were lost."""
    journal = JournalFile(tmp_path / "journal.jsonl", max_bytes=1000, kept=4)
    evictions = [0, 3, 40, 77]
    for number in range(200):
        kinds = ("RecordEvent", "EvictPod") if number in evictions else ("RecordEvent",)
        journal.append(records_of(number, *kinds))
    journal.close()
    files = sorted(tmp_path.iterdir(), key=lambda path: path.name)
    assert [path.name for path in files] == ["journal.1.jsonl", "journal.2.jsonl", "journal.3.jsonl", "journal.jsonl"]
    assert [record["n"] for record in records(tmp_path / "journal.3.jsonl")] == evictions
    newer = [record["n"] for path in (files[1], files[0], files[3]) for record in records(path)]
    assert newer == list(range(newer[0], 200)), "newer records are all there, in order"


def test_of_too_many_evictions_the_newest_are_kept(tmp_path: Path) -> None:
    journal = JournalFile(tmp_path / "journal.jsonl", max_bytes=1000, kept=3)
    for number in range(100):
        journal.append(records_of(number, "EvictPod"))
    journal.close()
    kept = [
        record["n"] for name in ("journal.2", "journal.1", "journal") for record in records(tmp_path / f"{name}.jsonl")
    ]
    assert kept == list(range(kept[0], 100))
    assert all(path.stat().st_size <= 1000 for path in tmp_path.iterdir())


def test_a_text_that_reads_like_an_eviction_is_none(tmp_path: Path) -> None:
    journal = JournalFile(tmp_path / "journal.jsonl", max_bytes=1000, kept=3)
    for number in range(100):
        journal.append(records_of(number, '"kind":"EvictPod"', '"findings":'))
    journal.close()
    assert records(tmp_path / "journal.2.jsonl") == []


def test_a_record_of_the_codec_is_known_as_an_eviction(tmp_path: Path) -> None:
    """The journal looks for the codec's own spelling."""
    seen = observe(GI // 2)
    done = step(GI // 2)
    evicting = encode_entry(now=NOW, wall="", state=State(), observation=seen, config=CONFIG, step=done)
    parts: Any = {"now": NOW, "wall": "", "state": State(), "observation": seen, "config": CONFIG, "step": step(4 * GI)}
    kubelet = KubeletEviction(pod="default/web", uid="u", at="")
    calm, beside, killed = (
        encode_entry(**parts),
        encode_entry(**parts, extra={"kubeletEvicted": [encode_kubelet_eviction(kubelet)]}),
        encode_entry(**parts, extra={"kernelKilled": [{"where": "default/web", "uid": "u", "count": 1}]}),
    )
    kept = evicting + beside + killed
    journal = JournalFile(tmp_path / "journal.jsonl", max_bytes=len(kept), kept=3)
    for line in (evicting, calm, beside, killed, calm, calm, calm, calm, calm, calm, calm):
        journal.append(line)
    journal.close()
    assert (tmp_path / "journal.2.jsonl").read_bytes() == kept


def test_a_record_larger_than_a_file_is_still_written(tmp_path: Path) -> None:
    journal = JournalFile(tmp_path / "journal.jsonl", max_bytes=10, kept=2)
    journal.append(line({"n": 1, "filler": "x" * 1000}))
    journal.append(line({"n": 2, "filler": "x" * 1000}))
    journal.close()
    assert records(tmp_path / "journal.jsonl")[0]["n"] == 2


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "journal.jsonl").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        JournalFile(tmp_path / "journal.jsonl").append(b"{}\n")
    assert not (tmp_path / "elsewhere").exists()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("needs root to mount a small disk")
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "evictd-test", str(disk)], check=True)
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


@pytest.mark.root
def test_a_full_disk_refuses_and_afterwards_every_whole_line_is_readable(small_disk: Path) -> None:
    journal = JournalFile(small_disk / "journal.jsonl")
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"x" * (64 * 1024 - 8192))
    with pytest.raises(OSError, match="No space left") as refusal:
        for number in range(1000):
            journal.append(line({"n": number, "filler": "x" * 700}))
    assert refusal.value.errno == errno.ENOSPC
    ballast.unlink()
    journal.append(line({"n": 5000}))
    journal.close()
    lines = journal.path.read_text().splitlines()
    assert json.loads(lines[-1]) == {"n": 5000}
    assert all(json.loads(line)["n"] == at for at, line in enumerate(lines[:-2]))


@pytest.mark.root
def test_a_read_only_disk_refuses(small_disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(OSError, match="Read-only"):
        JournalFile(small_disk / "journal.jsonl").append(b"{}\n")


def test_a_file_that_was_emptied_is_written_from_its_start(tmp_path: Path) -> None:
    """As by an operator who needs the space."""
    path = tmp_path / "journal.jsonl"
    journal = JournalFile(path, max_bytes=300)
    for number in range(2):
        journal.append(line({"n": number, "filler": "x" * 100}))
    os.truncate(path, 0)
    journal.append(line({"n": 2}))
    assert path.stat().st_blocks * 512 > 1 << 19, "the blocks of the next records are reserved again"
    journal.append(line({"n": 3, "filler": "x" * 280}))
    journal.close()
    assert (tmp_path / "journal.1.jsonl").read_bytes() == line({"n": 2})


@pytest.mark.parametrize("directory", [False, True], ids=["the file", "its directory"])
def test_what_is_written_after_the_removal_of_the_file_is_not_lost(tmp_path: Path, directory: bool) -> None:
    """It was written into the file without a name."""
    path = tmp_path / "state/journal.jsonl"
    journal = JournalFile(path)
    journal.append(b"one\n")
    if directory:
        shutil.rmtree(path.parent)
    else:
        path.unlink()
    journal.append(b"two\n")
    journal.close()
    assert path.read_bytes() == b"two\n"

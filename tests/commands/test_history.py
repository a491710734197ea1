"""`evictd history`."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from evictd.cli import main
from evictd.codec.records.journal import encode_entry
from evictd.commands import history
from evictd.commands.inputs import journals
from evictd.commands.played.world_journal import journal_lines
from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.pod import Pod
from evictd.core.model.state import State
from evictd.core.units.duration import MINUTE, SECOND
from evictd.errors import ExitCode, InputError
from tests.daemon.world import CONFIG, GI, HOG, NOW, STATIC, WEB, observe
from tests.render.played_worlds import incident_run
from tests.stories import ROOT


def line(at: int, wall: str, *, pods: Sequence[Pod] = (HOG, WEB, STATIC)) -> bytes:
    seen = observe(GI // 2, at, pods=pods)
    step = synchronize(State(), seen, CONFIG, at)
    return encode_entry(now=at, wall=wall, state=State(), observation=seen, config=CONFIG, step=step, extra={})


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A state directory with a rotated journal, whose newest file ends in a line that a full disk cut."""
    (tmp_path / "journal.1.jsonl").write_bytes(line(NOW, "2026-01-01T00:00:00Z"))
    newest = line(NOW + MINUTE, "2026-01-01T00:01:00Z")
    (tmp_path / "journal.jsonl").write_bytes(newest + newest[:100])
    return tmp_path


def command(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    history.add_arguments(parser)
    return parser.parse_args(arguments)


def test_the_files_are_named_as_for_why_and_incident(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert history.run(command("--journal", str(directory))) is ExitCode.DONE
    named = capsys.readouterr().out
    assert history.run(command(str(directory))) is ExitCode.DONE
    assert capsys.readouterr().out == named
    assert "evict default/hog" in named


def test_the_files_are_read_oldest_first_and_a_cut_line_is_skipped(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (directory / "journal.10.jsonl").write_bytes(b"")
    assert [path.name for path in journals.journal_files(directory)] == [
        "journal.10.jsonl", "journal.1.jsonl", "journal.jsonl"
    ]  # fmt: skip
    assert history.run(command("--directory", str(directory))) is ExitCode.DONE
    shown = capsys.readouterr()
    assert shown.out.count("evict default/hog") == 2
    assert "2 evictions" in shown.out
    assert "line 2" in shown.err


def test_a_program_gets_the_document(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert history.run(command("--directory", str(directory), "--output", "json")) is ExitCode.DONE
    document = json.loads(capsys.readouterr().out)
    assert document["kind"] == "History"
    assert document["conditions"] == [{"type": "MemoryPressure", "since": "2026-01-01T00:00:00Z", "until": None}]


def test_one_pod_and_the_last_part_can_be_asked_for(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    history.run(command("--directory", str(directory), "--since", "30s", "--pod", "default/hog"))
    shown = capsys.readouterr().out
    assert shown.count("evict default/hog") == 1
    assert "2026-01-01T00:01:00Z" in shown


def test_the_last_part_of_the_journal_is_that_of_a_pod_too(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--since 30s --pod` had the last 30s before the last event of the pod, however long ago that was."""
    with (directory / "journal.jsonl").open("ab") as journal:
        journal.write(b"\n" + line(NOW + 9 * MINUTE, "2026-01-01T00:09:00Z", pods=(WEB,)))
    history.run(command("--directory", str(directory), "--since", "30s", "--pod", "default/hog"))
    assert "evict default/hog" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("pod", "said"),
    [
        ("default/hgo", "the journal has no event of default/hgo; did you mean default/hog?"),
        ("hog", "the journal has no event of hog; did you mean default/hog?"),
        ("default/web", "the journal has no event of default/web"),
        ("other/thing", "the journal has no event of other/thing"),
    ],
)
def test_a_pod_without_an_event_is_named(
    directory: Path, pod: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert history.run(command("--directory", str(directory), "--pod", pod)) is ExitCode.DONE
    assert f"evictd: {said}\n" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--directory", "/nonexistent"], ["--since", "soon"]])
def test_a_missing_journal_and_a_bad_duration_are_clear_errors(directory: Path, arguments: list[str]) -> None:
    with pytest.raises(InputError):
        history.run(command("--directory", str(directory), *arguments))


def test_the_kubelets_evictions_are_compared(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    of_journal = ("--directory", str(directory), "--compare-kubelet")
    assert history.run(command(*of_journal)) is ExitCode.DONE
    assert "1 pod: 0 both, 0 only the kubelet, 1 only evictd" in capsys.readouterr().out
    history.run(command(*of_journal, "--output", "json", "--since", "30s", "--pod", "default/hog"))
    assert json.loads(capsys.readouterr().out)["evictions"] == []  # evictd chose it first before that
    with pytest.raises(InputError, match="--output html"):
        history.run(command(*of_journal, "--output", "html"))


def test_the_default_directory_is_the_settings_own() -> None:
    from evictd.config.settings import Settings

    assert Settings().evictd.state_directory == journals.DEFAULT_STATE_DIRECTORY


def test_the_inodes_that_came_back_with_images_are_told_where_these_were_short(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Bytes alone were told, and a pod that took 40000 inodes was named alone, while images held 600000 (world 40)."""
    main(
        [
            "simulate",
            str(ROOT / "config" / "incidents" / "40-images-fill-inodes.yaml"),
            "--journal",
            str(tmp_path / "j"),
        ]
    )
    capsys.readouterr()
    assert main(["history", str(tmp_path / "j")]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "deleted 3 unused images, 12Gi freed; nodefs.inodesFree rose from 20900 to 619900" in shown
    held = "Unused containers and images held 599000, most of the 979100 in use: their deletion gave them back."
    assert f"(all of it default/app); nothing else grew. {held}" in shown


def test_kills_without_a_threshold_of_memory_are_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only the kills were listed: neither the pod that grew nor the missing threshold was named (world 43)."""
    file = tmp_path / "journal.jsonl"
    lines = journal_lines(incident_run("43-no-memory-threshold"), end=1_800_000_000 * SECOND)
    file.write_bytes(b"".join(line.rstrip(b"\n") + b"\n" for line in lines))
    assert history.run(command(str(file))) is ExitCode.DONE
    text = " ".join(capsys.readouterr().out.split())
    assert "default/hog grew most before the kernel killed processes of default/api" in text
    assert "evictd has no threshold of memory" in text
    assert history.run(command(str(file), "--pod", "default/dhcp")) is ExitCode.DONE
    assert "no threshold of memory" not in capsys.readouterr().out

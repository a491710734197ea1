"""`evictd incident`."""

import argparse
import json
from pathlib import Path

import pytest

from evictd.cli import main
from evictd.commands import incident
from evictd.config.file import load_yaml
from evictd.errors import ExitCode, InputError, NoEvictionError, NotFoundError
from tests.render.recorded_incident import journal_lines
from tools.incidents import incident_files


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A state directory whose journal was rotated within the incident."""
    lines = journal_lines()
    (tmp_path / "journal.1.jsonl").write_bytes(b"".join(lines[:2]))
    (tmp_path / "journal.jsonl").write_bytes(b"".join(lines[2:]))
    return tmp_path


def command(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    incident.add_arguments(parser)
    return parser.parse_args(arguments)


def test_the_last_one_is_shown_with_the_account(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert incident.run(command("--directory", str(directory))) is ExitCode.DONE
    shown = capsys.readouterr().out
    assert shown.startswith("incident uid-hog-: default/hog-old at 2026-01-01T00:00:30Z")
    assert "no end of any pod would have" in " ".join(shown.split())
    assert "a request of 6Gi of memory (it had none): default/web (5Gi) would have gone in its place" in " ".join(
        shown.split()
    )
    assert incident.run(command("uid-hog-", "--directory", str(directory), "--output", "json")) is ExitCode.DONE
    document = json.loads(capsys.readouterr().out)
    assert document["successors"] == [{"pod": "default/hog-new", "afterSeconds": 12.0}]
    assert incident.run(command("last", "--directory", str(directory), "--output", "html")) is ExitCode.DONE
    assert capsys.readouterr().out.startswith("<!doctype html>")


def test_all_are_listed(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert incident.run(command("--list", "--directory", str(directory))) is ExitCode.DONE
    listed = capsys.readouterr().out
    assert "Of 2.5Gi that filled memory since 00:00:00, pods took 0" in listed, "the cause, not the order alone"
    assert listed.startswith("uid-hog-  2026-01-01T00:00:30Z  Evicted default/hog-old (6Gi)")
    assert incident.run(command("--list", "--directory", str(directory), "--output", "json")) is ExitCode.DONE
    assert len(json.loads(capsys.readouterr().out)["incidents"]) == 1
    one = (directory / "journal.1.jsonl").read_bytes().splitlines(keepends=True)[-1]
    with (directory / "journal.jsonl").open("ab") as journal:
        journal.write(one.replace(b"2026-01-01T00:00:30Z", b"2026-01-01T00:10:30Z"))
    assert incident.run(command("--list", "--directory", str(directory))) is ExitCode.DONE
    assert capsys.readouterr().out.startswith("uid-hog-  2026-01-01T00:10:30Z  ")
    with pytest.raises(InputError, match="--list"):
        incident.run(command("--list", "--directory", str(directory), "--output", "html"))


def test_the_last_part_is_listed(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`history` had `--since`, and the list of incidents always began years before."""
    one = (directory / "journal.1.jsonl").read_bytes().splitlines(keepends=True)[-1]
    with (directory / "journal.jsonl").open("ab") as journal:
        journal.write(
            one.replace(b"2026-01-01T00:00:30Z", b"2026-01-02T00:00:30Z").replace(b"uid-hog-old", b"1-uid-hog")
        )
    listed = ("--list", "--directory", str(directory))
    assert incident.run(command(*listed, "--since", "1h")) is ExitCode.DONE
    assert capsys.readouterr().out.startswith("1-uid-ho  2026-01-02T00:00:30Z  ")
    assert incident.run(command(*listed, "--since", "25h", "--output", "json")) is ExitCode.DONE
    assert len(json.loads(capsys.readouterr().out)["incidents"]) == 2
    with pytest.raises(InputError, match="--since: is for --list"):
        incident.run(command("--directory", str(directory), "--since", "1h"))


def test_a_last_part_without_an_eviction_says_so(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It printed nothing, as if the command had failed."""
    assert incident.run(command("--list", "--directory", str(directory), "--since", "1s")) is ExitCode.DONE
    assert capsys.readouterr().out == "no eviction in the last 1s of the journal\n"


def test_incidents_that_one_owner_repeats_are_folded_in_the_list(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """117 lines were the same but for a number."""
    one = (directory / "journal.1.jsonl").read_bytes().splitlines(keepends=True)[-1]
    with (directory / "journal.jsonl").open("ab") as journal:
        for number in range(4):
            other = one.replace(b"uid-hog-old", b"%d-uid-hog" % number).replace(b"00:00:30Z", b"00:1%d:30Z" % number)
            journal.write(other)
    assert incident.run(command("--list", "--directory", str(directory))) is ExitCode.DONE
    shown = " ".join(capsys.readouterr().out.split())
    assert (
        "... the same of ReplicaSet/hog 3 more times, 1m0s to 10m0s apart; the last time (--all lists each): 3-uid-ho"
        in shown
    )
    assert [each in shown for each in ("uid-hog- ", "0-uid-ho", "2-uid-ho")] == [True, False, False]
    assert incident.run(command("--list", "--all", "--directory", str(directory))) is ExitCode.DONE
    assert "2-uid-ho  2026-01-01T00:12:30Z" in capsys.readouterr().out


def test_an_unknown_one_and_an_empty_journal_are_answered_with_no(directory: Path, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"0000: is no incident of this journal; there are uid-hog-"):
        incident.run(command("0000", "--directory", str(directory)))
    for name in ("default/hog-odl", "hog-old", "hog"):
        with pytest.raises(NotFoundError, match=r"is no incident of this journal; did you mean default/hog-old\?"):
            incident.run(command(name, "--directory", str(directory)))
    (tmp_path / "empty.jsonl").write_bytes(b"")
    with pytest.raises(NotFoundError, match=r"the journal has no eviction; `evictd history` says"):
        incident.run(command("--list", "--journal", str(tmp_path / "empty.jsonl")))
    with pytest.raises(NotFoundError, match="the journal has no eviction"):
        incident.run(command("--journal", str(tmp_path / "empty.jsonl")))
    with pytest.raises(InputError, match="there is no journal"):
        incident.run(command("--directory", str(tmp_path / "none")))


@pytest.mark.parametrize("form", ["json", "yaml"])
@pytest.mark.parametrize("options", [(), ("--list",)])
def test_a_journal_without_an_eviction_has_a_document(
    form: str, options: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing was written to the standard output, which is no document."""
    (journal := tmp_path / "empty.jsonl").write_bytes(b"")
    assert incident.run(command(*options, "--journal", str(journal), "--output", form)) is ExitCode.NO
    document = load_yaml(capsys.readouterr().out)
    assert isinstance(document, dict)
    assert document["incidents"] == []
    assert document["text"].startswith("the journal has no eviction")


def test_a_pod_behind_the_journals_is_the_incident(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--journal FILE default/hog-old` took the pod for a second file."""
    journal = directory / "journal.1.jsonl"
    assert incident.run(command("--journal", str(journal), "default/hog-old")) is ExitCode.DONE
    assert capsys.readouterr().out.startswith("incident uid-hog-")
    with pytest.raises(NotFoundError, match="nope: is no incident of this journal"):
        incident.run(command("--journal", str(journal), "nope"))


def test_kills_by_the_kernel_without_an_eviction_are_an_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit status was 1, as of an error, and a script did not show what the kernel had killed."""
    world = next(each for each in incident_files() if each.stem == "43-no-memory-threshold")
    main(["simulate", str(world), "--journal", str(tmp_path)])
    capsys.readouterr()
    assert incident.run(command("--directory", str(tmp_path))) is ExitCode.DONE
    shown = capsys.readouterr().out
    assert shown.startswith("The journal has no eviction. ")
    assert "kernel" in shown
    assert incident.run(command("--directory", str(tmp_path), "--output", "json")) is ExitCode.DONE
    assert "kernel" in json.loads(capsys.readouterr().out)["text"]
    with pytest.raises(NoEvictionError):
        incident.run(command("default/web", "--directory", str(tmp_path)))

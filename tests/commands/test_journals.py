"""All files of a node's journal are read, oldest first."""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from evictd.codec.checksum import sealed
from evictd.codec.records.journal import decode_entry
from evictd.commands.inputs import journals
from evictd.commands.inputs.journals import (
    add_journal_argument,
    add_journal_options,
    add_journals_beside,
    expanded,
    journals_of,
    named_beside_journals,
    read_lines,
)
from evictd.daemon.telemetry.http import HttpServer, json_page
from evictd.errors import InputError
from tests.locked import locked_directory
from tests.recorded_errors import NoErrors


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    for name in ("journal.jsonl", "journal.1.jsonl", "journal.2.jsonl", "journal.x.jsonl", "state.json"):
        (tmp_path / name).write_text("")
    return tmp_path


def names(*arguments: str) -> list[str]:
    parser = argparse.ArgumentParser()
    add_journal_argument(parser)
    add_journal_options(parser)
    return [path.name for path in journals_of(parser.parse_args(arguments))]


def test_a_word_that_is_a_file_or_a_directory_is_taken_as_a_journal(tmp_path: Path) -> None:
    """`evictd why NAMESPACE/POD FILE` was an unrecognized argument, and `evictd incident FILE` named an eviction."""
    file = tmp_path / "journal.jsonl"
    file.touch()
    args = argparse.Namespace(journal=[tmp_path], beside=[str(file)])
    assert named_beside_journals(args, "default/web", "NAMESPACE/POD") == "default/web"
    assert args.journal == [tmp_path, file]


def test_two_words_that_are_no_files_are_one_too_many(tmp_path: Path) -> None:
    """The second of two pods was said to be "no file", and not that one is taken."""
    args = argparse.Namespace(journal=[tmp_path], beside=["default/api"])
    with pytest.raises(InputError, match="default/web, default/api: neither is a file; give one NAMESPACE/POD, then"):
        named_beside_journals(args, "default/web", "NAMESPACE/POD")


def test_the_usage_takes_one_of_what_is_asked_for_and_then_journals() -> None:
    """The usage of `why` was `[NAMESPACE/POD ...]`, and a second pod was refused."""
    parser = argparse.ArgumentParser()
    parser.add_argument("pod", nargs="?", metavar="NAMESPACE/POD")
    add_journals_beside(parser)
    assert parser.format_usage().endswith("[NAMESPACE/POD] [JOURNAL ...]\n")
    args = parser.parse_args(["default/web", "a", "b"])
    assert (args.pod, args.beside) == ("default/web", ["a", "b"])


def test_a_directory_is_all_of_its_files_named_or_not(directory: Path) -> None:
    every = ["journal.2.jsonl", "journal.1.jsonl", "journal.jsonl"]
    assert names("--directory", str(directory)) == every
    assert names(str(directory)) == every


def test_the_newest_file_alone_is_read_and_the_others_are_named(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert expanded([directory / "journal.jsonl"]) == [directory / "journal.jsonl"]
    assert "journal.2.jsonl" in capsys.readouterr().err
    assert len(expanded([directory / "journal.1.jsonl", directory / "journal.jsonl"])) == 2
    assert capsys.readouterr().err == ""


def test_a_directory_without_a_journal_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "other.jsonl").write_text("{}\n")
    with pytest.raises(InputError, match="there is no journal; name"):
        expanded([tmp_path])


@pytest.fixture
def locked(tmp_path: Path) -> Iterator[Path]:
    with locked_directory(tmp_path, b"{}") as folder:
        yield folder


def test_a_journal_that_only_root_may_read_is_said_to_be(locked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`Permission denied` alone did not say what to do."""
    said = r"journal.jsonl: Permission denied; the journal is known to root only: use sudo$"
    with pytest.raises(InputError, match=said):
        names("--directory", str(locked))
    with pytest.raises(InputError, match=said):
        read_lines([locked / "journal.jsonl"], json.loads)
    monkeypatch.setattr(journals, "DEFAULT_STATE_DIRECTORY", locked)
    with pytest.raises(InputError, match=said):
        names()


def test_journals_with_other_names_are_named(tmp_path: Path) -> None:
    """`make demo` keeps its journal as build/demo.jsonl; `--journal build` found none."""
    (tmp_path / "demo.jsonl").write_text('{"kind":"evictd.io/journal/v1","wall":""}\n')
    (tmp_path / "other.jsonl").write_text("{}\n")
    with pytest.raises(InputError) as caught:
        expanded([tmp_path])
    assert str(caught.value).startswith(
        f"{tmp_path}: there is no journal.jsonl; {tmp_path}/demo.jsonl is a journal; name the files with --journal"
    )


def test_the_running_daemon_is_asked_where_the_default_directory_has_no_journal(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """After a dry run with a state directory of its own `evictd history` found nothing."""
    answers = {"stateDirectory": str(directory)}
    config = {"/configz": lambda: json_page(answers), "/statusz": lambda: json_page({})}
    monkeypatch.setattr(journals, "DEFAULT_STATE_DIRECTORY", tmp_path / "none")
    monkeypatch.setattr(journals, "DEFAULT_ADDRESS", "127.0.0.1:1")
    with pytest.raises(InputError, match="there is no journal"):
        names()
    server = HttpServer("127.0.0.1:0", config, NoErrors())
    address = f"127.0.0.1:{server.port}"
    monkeypatch.setattr(journals, "DEFAULT_ADDRESS", address)
    try:
        assert names() == ["journal.2.jsonl", "journal.1.jsonl", "journal.jsonl"]
        assert capsys.readouterr().err == f"evictd: the journal of the evictd at {address}: {directory}\n"
        answers["stateDirectory"] = str(tmp_path / "none")
        with pytest.raises(InputError, match="there is no journal"):
            names()
    finally:
        server.close()


def test_a_record_with_a_flipped_bit_is_named_and_skipped(tmp_path: Path) -> None:
    whole = sealed(b'{"now":1000}\n')
    (tmp_path / "journal.jsonl").write_bytes(whole + whole.replace(b"1000", b"1001") + b'{"now":7}\n')
    entries, problems = read_lines([tmp_path / "journal.jsonl"], json.loads)
    assert entries == [{"now": 1000}, {"now": 7}]
    assert problems == [f"{tmp_path}/journal.jsonl: line 2: its checksum does not match; it is damaged"]


def test_a_file_of_something_else_is_no_damaged_journal(tmp_path: Path) -> None:
    """A picture was called a line that is cut short or damaged."""
    (tmp_path / "demo.svg").write_text("<?xml?>\n<svg/>\n")
    with pytest.raises(InputError, match=r"demo\.svg: is no journal: its first line is no JSON object$"):
        read_lines([tmp_path / "demo.svg"], decode_entry)
    (tmp_path / "cut.jsonl").write_text('{"kind":')
    with pytest.raises(InputError, match="the line is cut short or damaged"):
        read_lines([tmp_path / "cut.jsonl"], decode_entry)


def test_a_folder_of_nodes_names_them(tmp_path: Path) -> None:
    for name in ("n1", "n2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "journal.jsonl").touch()
    with pytest.raises(InputError, match="it has the journals of n1, n2: name the directory of one node"):
        expanded([tmp_path])

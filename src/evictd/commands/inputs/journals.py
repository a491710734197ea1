"""Finds and reads the files of a journal: by default all of this node's, oldest first."""

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TypeVar

from evictd.codec.checksum import unsealed
from evictd.codec.records.journal import KIND
from evictd.commands.inputs.no_file import is_directory, is_there
from evictd.commands.status import DEFAULT_ADDRESS, fetch
from evictd.config.file import STANDARD_INPUT, shown_path
from evictd.errors import InputError, NodeError
from evictd.render.text import clean, first_of

DEFAULT_STATE_DIRECTORY = Path("/var/lib/evictd")
"""The default of `stateDirectory`."""
NEWEST = "journal.jsonl"
_MAX_LINE = 64 << 20
_STORIES = {".yaml", ".yml", ".json"}
_NOT_A_JOURNAL = "`evictd simulate` plays a scenario, a world or a capture, `evictd check` reads a configuration"

_JOURNAL_BEGINS = f'{{"kind":"{KIND.rpartition("/")[0]}/'.encode()
"""The first bytes of a journal of any version."""

Line = TypeVar("Line")

_FILES = "journal files, oldest first, or a directory with all of them; - is standard input; default: this node's"


def add_journal_argument(parser: argparse.ArgumentParser) -> None:
    """Add the files of the journal as positional arguments, for a command that takes no others."""
    parser.add_argument("files", nargs="*", type=Path, metavar="JOURNAL", help=_FILES)


def add_journal_options(parser: argparse.ArgumentParser) -> None:
    """Add `--journal` and `--directory`, which every command has that reads a journal."""
    parser.add_argument("--journal", nargs="+", type=Path, default=(), metavar="JOURNAL", help=_FILES)
    parser.add_argument(
        "--directory",
        type=Path,
        metavar="DIRECTORY",
        help=f"where this node's daemon keeps its journal (default {DEFAULT_STATE_DIRECTORY}, else that of the running daemon)",
    )


def add_journals_beside(parser: argparse.ArgumentParser) -> None:
    """Add the journals that may stand beside what a command asks for (`named_beside_journals`)."""
    parser.add_argument("beside", nargs="*", metavar="JOURNAL", help="taken as --journal")


def named_behind_journals(args: argparse.Namespace) -> str | None:
    """Take the last value of `--journal` out of it where it is no file: `--journal FILE NAMESPACE/POD` names a pod too.

    `None` where all are files, or it is the only value.
    """
    if len(args.journal) < 2:
        return None
    *files, last = args.journal
    if last == STANDARD_INPUT or is_there(last):
        return None
    args.journal = files
    return str(last)


def named_beside_journals(args: argparse.Namespace, first: str | None, form: str) -> str | None:
    """Take the words that are files or directories as journals, as `--journal` does, and return the other one, if there is one.

    Raises `InputError` if there are several; `form` is what one of them is: `NAMESPACE/POD`.
    """
    words = [*filter(None, (first,)), *args.beside]
    files = [word for word in words if is_there(Path(word))]
    args.journal = [*args.journal, *map(Path, files)]
    named = [word for word in words if word not in files]
    if len(named) > 1:
        raise InputError(f"{named[0]}, {named[1]}: neither is a file; give one {form}, then journals that exist")
    return named[0] if named else None


def journals_of(args: argparse.Namespace) -> list[Path]:
    """Return the files that a command line names, or all of `--directory`; raises `InputError` if there are none."""
    named = [*getattr(args, "files", ()), *args.journal]
    if named or args.directory is not None:
        return expanded(named) if named else journal_files(args.directory)
    try:
        return journal_files(DEFAULT_STATE_DIRECTORY)
    except InputError as error:
        if isinstance(error.__cause__, PermissionError) or (running := _directory_of_daemon()) is None:
            raise
    sys.stderr.write(f"evictd: the journal of the evictd at {DEFAULT_ADDRESS}: {running}\n")
    return journal_files(running)


def _directory_of_daemon() -> Path | None:
    """Ask the daemon at the default address for its state directory; `None` if none answers or it is the default one."""
    try:
        found = fetch(DEFAULT_ADDRESS, "/configz").get("stateDirectory")
    except NodeError:
        return None
    return Path(found) if isinstance(found, str) and Path(found) != DEFAULT_STATE_DIRECTORY else None


def expanded(paths: Sequence[Path]) -> list[Path]:
    """Replace directories by the files of their journals; says on standard error which older files a single file leaves out."""
    found = [file for path in paths for file in (journal_files(path) if is_directory(path) else [path])]
    if len(found) == 1 and found[0].name == NEWEST and (left := _older(found[0].parent)):
        names = " ".join(str(path) for path in left)
        sys.stderr.write(
            f"evictd: {found[0]}: is the newest file only; before it: {names} (name the directory for all)\n"
        )
    return found


def journal_files(directory: Path) -> list[Path]:
    """Find the journal of a state directory, oldest file first; raises `InputError` if there is none or it may not be read."""
    if not (found := journal_files_in(directory)):
        remedy = "name the files with --journal, or the stateDirectory with --directory"
        if of_nodes := sorted(path.parent.name for path in directory.glob(f"*/{NEWEST}")):
            remedy = f"it has the journals of {first_of(list(map(clean, of_nodes)))}: name the directory of one node"
        if others := _with_other_names(directory):
            remedy = f"{first_of(others)} {'is a journal' if len(others) == 1 else 'are journals'}; {remedy}"
        raise InputError(f"{directory}: there is no {NEWEST if others else 'journal'}; {remedy}")
    return found


def journal_files_in(directory: Path) -> list[Path]:
    """Find the journal of a directory, oldest file first, if it has one; raises `InputError` if it may not be read."""
    try:
        return [path for path in (*_older(directory), directory / NEWEST) if _exists(path)]
    except PermissionError as error:
        raise InputError(_denied(directory / NEWEST)) from error


def _with_other_names(directory: Path) -> list[str]:
    """Return the files of a directory that are journals by their content, such as the one that the demonstration keeps."""
    found = []
    for path in sorted(directory.glob("*.jsonl")) if directory.is_dir() else ():
        with suppress(OSError), path.open("rb") as file:
            if file.read(len(_JOURNAL_BEGINS)) == _JOURNAL_BEGINS:
                found.append(clean(str(path)))
    return found


def _exists(path: Path) -> bool:
    """Whether there is such a file; `Path.exists` of Python 3.14 also answers False where that cannot be seen."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _denied(path: Path) -> str:
    """Return what to say where this user may not read a journal: it has the ends of pods' logs."""
    return f"{shown_path(path)}: Permission denied; the journal is known to root only: use sudo"


def _older(directory: Path) -> list[Path]:
    found = directory.glob("journal.[0-9]*.jsonl") if is_directory(directory) else ()
    return sorted(found, key=_number, reverse=True)


def _number(path: Path) -> int:
    middle = path.name.split(".")[1]
    return int(middle) if middle.isdecimal() else 0


def read_journals(paths: Sequence[Path], decode: Callable[[bytes], Line]) -> list[Line]:
    """Decode each line of journal files in this order; a damaged one (a full disk cuts one short) is reported and left out."""
    lines, problems = read_lines(paths, decode)
    report_skipped(problems)
    return lines


def read_lines(paths: Sequence[Path], decode: Callable[[bytes], Line]) -> tuple[list[Line], list[str]]:
    """Decode each line of journal files in this order, with the problems of damaged ones; raises `InputError` if all are."""
    entries: list[Line] = []
    problems: list[str] = []
    foreign = ""
    for path in paths:
        for number, line in _numbered_lines(path):
            if number == 1 and not line.lstrip().startswith(b"{"):
                foreign = foreign or f"{shown_path(path)}: is no journal: its first line is no JSON object"
            try:
                entries.append(decode(unsealed(line)))
            except InputError as error:
                problems.append(f"{shown_path(path)}: line {number}: {error.problems[0]}")
    if not entries and problems:
        if any(path.suffix in _STORIES for path in paths):
            raise InputError(f"{shown_path(paths[0])}: is no journal; {_NOT_A_JOURNAL}")
        raise InputError(foreign or problems[0])
    return entries, problems


def report_skipped(problems: Iterable[str]) -> None:
    """Write on standard error which lines were left out."""
    for problem in problems:
        sys.stderr.write(f"evictd: {clean(problem)}; skipped\n")


def _numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with nullcontext(sys.stdin.buffer) if path == STANDARD_INPUT else path.open("rb") as file:
            number = 0
            while line := file.readline(_MAX_LINE + 1):
                number += 1
                if len(line) > _MAX_LINE:
                    raise InputError(
                        f"{shown_path(path)}: line {number}: is longer than {_MAX_LINE} bytes; it is no journal"
                    )
                if line.strip():
                    yield number, line
    except PermissionError as error:
        raise InputError(_denied(path)) from error
    except OSError as error:
        raise InputError(f"{shown_path(path)}: {error.strerror or error}") from error

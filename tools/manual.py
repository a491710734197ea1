"""Writes man pages and shell completion from the argument parsers: `python -m tools.manual FOLDER` (a `share` folder)."""

import argparse
import gzip
import importlib
import sys
from pathlib import Path

import shtab
from argparse_manpage.manpage import Manpage

from evictd import __version__
from evictd.cli import COMMANDS

COMPLETIONS = {
    "bash": "bash-completion/completions/evictd",
    "zsh": "zsh/vendor-completions/_evictd",
}
"""The file of each shell below `share`."""


def full_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog="evictd",
        description="Evict pods from a node that runs short of memory, disk space, inodes or process IDs.",
        epilog="Exit status: 0 done, 1 the answer is no, 2 bad usage or configuration, 3 node or server not reached.",
    )
    parser.add_argument("--version", action="version", version=f"evictd {__version__}", help="print the version")
    commands = parser.add_subparsers(title="commands", dest="command", metavar="COMMAND")
    for name, (module, about) in COMMANDS.items():
        text = f"{about[0].upper()}{about[1:]}."
        importlib.import_module(module).add_arguments(commands.add_parser(name, help=about, description=text))
    return parser


def pages() -> dict[str, str]:
    """Return the man pages by file name: evictd.1, and one for each command."""
    parser = full_parser()
    found = {"evictd.1": _page(parser)}
    for name, command in _commands(parser).items():
        found[f"evictd-{name}.1"] = _page(command)
    return found


def completions() -> dict[str, str]:
    """Return the completion scripts by their path below `share`."""
    return {path: shtab.complete(full_parser(), shell) for shell, path in COMPLETIONS.items()}


def write(share: Path) -> None:
    """Write everything below a `share` folder; man pages are compressed, without a time stamp."""
    for name, text in pages().items():
        path = share / "man/man1" / f"{name}.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(text.encode(), mtime=0))
    for name, text in completions().items():
        (share / name).parent.mkdir(parents=True, exist_ok=True)
        (share / name).write_text(text, encoding="utf-8")


def _commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    (choices,) = (each.choices for each in parser._actions if isinstance(each, argparse._SubParsersAction))
    return {name: choices[name] for name in COMMANDS}


def _page(parser: argparse.ArgumentParser) -> str:
    """Return one page; its name has a hyphen, as that of the file, and is followed by what the command does."""
    page = str(Manpage(parser, format="pretty", _data={"project_name": "evictd", "version": __version__}))
    name = parser.prog.replace(" ", "\\-")
    about = (parser.description or "").rstrip(".")
    page = page.replace(f".TH {parser.prog.upper()} ", f".TH {name.upper()} ", 1)
    return page.replace(f".SH NAME\n{parser.prog}\n", f".SH NAME\n{name} \\- {about}\n", 1)


if __name__ == "__main__":
    write(Path(sys.argv[1]))

"""`evictd explain-alert NAME`: prints the run book of an alert, without a network.

The text is that of docs/alerts.md, which is a part of the package; `make reference` copies it.
"""

import argparse
import difflib
import re
import sys
from pathlib import Path

from evictd.errors import ExitCode, InputError

_TEXT = Path(__file__).with_name("alerts.md")
_HEADING = re.compile(r"^## (\w+)$", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]+)\]\(([\w./-]+)(?:#[\w-]+)?\)")
_IN_PARENTHESES = re.compile(r"\(\[[^\]]+\]\(([\w./-]+)(?:#[\w-]+)?\)\)")
_OF_PAGE = re.compile(r"\[([^\]]+)\]\(#[\w-]+\)")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("name", nargs="?", default="", metavar="NAME", help="the alert; without one all are listed")


def run(args: argparse.Namespace) -> ExitCode:
    """Print the section of the alert, or the names of all."""
    books = runbooks(_TEXT.read_text(encoding="utf-8"))
    if not args.name:
        sys.stdout.write("\n".join(books) + "\n")
        sys.stderr.write("evictd: `evictd explain-alert NAME` shows what to do\n")
        return ExitCode.DONE
    names = {name.lower(): name for name in books}
    known = names.get(args.name.lower()) or names.get(f"evictd{args.name}".lower())
    if known is None:
        close = difflib.get_close_matches(args.name.lower(), names, n=1)
        naming = (name for name, book in books.items() if f"`{args.name}`".lower() in book.lower())
        if close:
            meant = f"did you mean {names[close[0]]}?"
        elif (name := next(naming, None)) is not None:
            meant = f"the run book of {name} names it"
        else:
            meant = f"there are {', '.join(books)}"
        raise InputError(f"{args.name}: is no alert of evictd; {meant}")
    sys.stdout.write(f"{known}\n\n{books[known]}\n")
    return ExitCode.DONE


def runbooks(text: str) -> dict[str, str]:
    """Return the section of each alert by its name, without the heading; links name their page."""
    _, *parts = _HEADING.split(text)
    return {name: _plain(section.strip()) for name, section in zip(parts[::2], parts[1::2], strict=True)}


def _plain(text: str) -> str:
    """Write a section for a terminal: a link as its text and the file of its page, headings in it without asterisks."""
    text = _IN_PARENTHESES.sub(r"(docs/\1)", text)
    text = _OF_PAGE.sub(lambda link: link[1], text)
    return _LINK.sub(r"\1 (docs/\2)", text).replace("**", "")

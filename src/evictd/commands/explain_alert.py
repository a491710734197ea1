"""`evictd explain-alert NAME`: prints the run book of an alert, without a network.

The text is that of docs/alerts.md, which is a part of the package; `make reference` copies it.
"""

import argparse
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from evictd.errors import ExitCode, InputError, similar_names
from evictd.render.console import make_console, print_line

_TEXT = Path(__file__).with_name("alerts.md")
_COMMAND = "    "
"""What a command begins with."""
_HEADING = re.compile(r"^## (\w+)$", re.MULTILINE)
_ITEM = re.compile(r"\n(?=- )")
_LINK = re.compile(r"\[([^\]]+)\]\(([\w./-]+(?:#[\w-]+)?)\)")
_IN_PARENTHESES = re.compile(r"\(\[[^\]]+\]\(([\w./-]+(?:#[\w-]+)?)\)\)")
_NAMED = 3
"""The most alerts and run books that are listed; a word that more of them have is too general."""
_OF_PAGE = re.compile(r"\[([^\]]+)\]\(#[\w-]+\)")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("name", nargs="?", default="", metavar="NAME", help="the alert; without one all are listed")


def run(args: argparse.Namespace) -> ExitCode:
    """Print the section of the alert, or the names of all."""
    books = runbooks(_TEXT.read_text(encoding="utf-8"))
    if not args.name:
        console, width = make_console(sys.stdout), max(map(len, books)) + 2
        for name, book in books.items():
            print_line(console, name.ljust(width), _first_sentence(book))
        sys.stderr.write("evictd: `evictd explain-alert NAME` shows what to do\n")
        return ExitCode.DONE
    name = _alert(args.name, books)
    console = make_console(sys.stdout)
    console.print(name, style="bold")
    for lead, text in _lines(books[name]):
        if lead == _COMMAND:  # in two lines a shell would run other commands
            console.print(lead + text, soft_wrap=True)
        else:
            print_line(console, lead, text)
    return ExitCode.DONE


def _alert(given: str, books: Mapping[str, str]) -> str:
    """Return the alert of this name, in any case and with or without `Evictd`; raises `InputError`, with what may be meant."""
    names = {_word(name): name for name in books}
    word = _word(given)
    if word in names:
        return names[word]
    value = re.sub("^evictd", "", given, flags=re.IGNORECASE)
    naming = [name for name, book in books.items() if _names(book, value) or word in _words(_meaning(book))]
    if close := similar_names(word, names, most=_NAMED):
        last = re.findall("[A-Z]?[^A-Z]+|[A-Z]+", value)[-1].lower()
        likely = [names[close[0]], *(name for name, book in books.items() if last in _words(_meaning(book)))]
        likely += [names[each] for each in close]
        meant = f"did you mean {_either(list(dict.fromkeys(likely))[:_NAMED])}?"
    elif 0 < len(naming) <= _NAMED:
        meant = f"the run book of {_either(naming)} names it"
    else:
        meant = f"there are {', '.join(books)}"
    raise InputError(f"{given}: is no alert of evictd; {meant}")


def _either(names: Sequence[str]) -> str:
    return " or ".join([*([", ".join(names[:-1])] if len(names) > 1 else []), names[-1]])


def _word(name: str) -> str:
    """Return a name without `Evictd`, with which all begin, for a comparison."""
    return name.lower().removeprefix("evictd")


def _names(book: str, value: str) -> bool:
    """Whether a run book has this value, such as a reason or a metric."""
    return f"`{value}`".lower() in book.lower()


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def _meaning(book: str) -> str:
    """Return the first paragraph, which says what an alert means."""
    return " ".join(book.partition("\n\n")[0].removeprefix("Meaning.").split())


def _first_sentence(book: str) -> str:
    """Return what an alert means, in one sentence."""
    return _meaning(book).partition(". ")[0].removesuffix(".") + "."


def _lines(book: str) -> Iterator[tuple[str, str]]:
    """Yield the paragraphs and list items of a section, each on one line, with what it begins with."""
    for paragraph in book.split("\n\n"):
        yield "", ""
        if paragraph.startswith(_COMMAND):
            yield _COMMAND, paragraph.strip()
            continue
        for item in _ITEM.split(paragraph):
            text = " ".join(item.split())
            lead = "- " if text.startswith("- ") else ""
            yield lead, text.removeprefix(lead)


def runbooks(text: str) -> dict[str, str]:
    """Return the section of each alert by its name, without the heading; links name their page."""
    _, *parts = _HEADING.split(text)
    return {name: _plain(section.strip()) for name, section in zip(parts[::2], parts[1::2], strict=True)}


def _plain(text: str) -> str:
    """Write a section for a terminal: a link as its text, its page and the heading there; no asterisks."""
    text = _IN_PARENTHESES.sub(r"(docs/\1)", text)
    text = _OF_PAGE.sub(lambda link: link[1], text)
    return _LINK.sub(r"\1 (docs/\2)", text).replace("**", "")

"""Reads pages of the documentation as a shell and a browser have them."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
_CONTINUED = re.compile(r" \\\n +")
IN_A_LIST, ON_THE_PAGE = 76, 80
"""Characters of a line of code that a window of 1280 px shows without scrolling; larger ones show more, phones less."""


def joined(page: str | Path) -> str:
    """Return the text of a page, by its name in `docs` or its path, with each command on one line."""
    return _CONTINUED.sub(" ", (DOCS / page).read_text(encoding="utf-8"))


def cut_lines(text: str) -> list[str]:
    """Return the lines of code whose end a reader has to scroll to."""
    code = re.findall(r"^(    (?:    )?)(.*)$", text, re.MULTILINE)
    return [line for indent, line in code if len(line) > (IN_A_LIST if len(indent) > 4 else ON_THE_PAGE)]

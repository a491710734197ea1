"""The table of docs/compatibility.md: what each run of the tests ran on, and its result. Each kind of run writes its own rows.

One row is of one release of Debian and one target of make, in this order.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs/compatibility.md"
RELEASES = {"bookworm": 12, "trixie": 13, "forky": 14}
KINDS = ("passed", "failed", "skipped")
ANY = "-"
"""In the place of a version on which the result does not depend, or that the tests do not use."""
_TABLE = re.compile(r"^(\| Distribution .*\n\|[-|]+\n)((?:\|.*\n)*)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Row:
    """One run; `tests` is the command without `make`."""

    release: str
    tests: str
    python: str
    results: Mapping[str, int]
    linux: str = ANY
    systemd: str = ANY
    runtime: str = ANY

    def __str__(self) -> str:
        results = ", ".join(
            f"{self.results.get(kind, 0)} {kind}" for kind in KINDS if self.results.get(kind) or kind == "passed"
        )
        distribution = f"Debian {RELEASES[self.release]} ({self.release})"
        cells = (distribution, f"`make {self.tests}`", self.linux, self.systemd, self.runtime, self.python, results)
        return f"| {' | '.join(cells)} |\n"


def with_row(page: str, row: Row) -> str:
    """Put a row into the table of a page, in the place of the last one of its release and tests; the others stay."""

    def table(found: re.Match[str]) -> str:
        rows = {_key(line): line for line in [*found[2].splitlines(keepends=True), str(row)]}
        return found[1] + "".join(rows[key] for key in sorted(rows))

    return _TABLE.sub(table, page)


def _key(line: str) -> tuple[str, str]:
    _, distribution, tests, *_ = (cell.strip(" `") for cell in line.split("|"))
    return distribution, tests


def record(row: Row) -> None:
    """Write a row into the page."""
    PAGE.write_text(with_row(PAGE.read_text(encoding="utf-8"), row), encoding="utf-8")

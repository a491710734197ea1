"""Transfers measured numbers to the host's report."""

from pathlib import Path

FILE = Path("/srv/job/out/figures.txt")


def figure(text: str) -> None:
    """Have a line printed at the end of `make test-vm`."""
    with FILE.open("a", encoding="utf-8") as out:
        out.write(f"{text}\n")

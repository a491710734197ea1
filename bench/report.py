"""Writes the figures of a suite into `docs/benchmarks.md`, between the marks of its section."""

import os
import platform
import re
from pathlib import Path

PAGE = Path("docs/benchmarks.md")
HEAD = "# Benchmarks\n\nMeasured by `make bench`; each section is written by its suite.\n"


def loads() -> str:
    """Describe the machine: kernel, processors, load."""
    load = os.getloadavg()[0]
    return f"Linux {platform.release().partition('-')[0]}, {os.cpu_count()} cores, load {load:.1f}."


def write_section(name: str, text: str, page: Path = PAGE) -> None:
    """Replace the section of a suite, or append it."""
    old = page.read_text() if page.exists() else HEAD
    begin, end = f"<!-- suite: {name} -->", f"<!-- end: {name} -->"
    section = f"{begin}\n{text.strip()}\n{end}"
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    new = pattern.sub(lambda _: section, old) if pattern.search(old) else f"{old.rstrip()}\n\n{section}\n"
    page.write_text(new)

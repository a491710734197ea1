"""Writes the figures of a suite into the page that has its section, between the marks of the section."""

import os
import platform
import re
from pathlib import Path

PAGE, OF_DEVELOPERS = Path("docs/benchmarks.md"), Path("bench/figures.md")
HEAD = "# Benchmarks\n\nMeasured by `make bench`; each section is written by its suite.\n"


def loads() -> str:
    """Describe the machine: kernel, processors, load."""
    load = os.getloadavg()[0]
    return f"Linux {platform.release().partition('-')[0]}, {os.cpu_count()} cores, load {load:.1f}."


def write_section(name: str, text: str) -> None:
    """Replace the section of a suite in the page that has it, or append it to `PAGE`."""
    begin, end = f"<!-- suite: {name} -->", f"<!-- end: {name} -->"
    page = next((each for each in (PAGE, OF_DEVELOPERS) if each.exists() and begin in each.read_text()), PAGE)
    old = page.read_text() if page.exists() else HEAD
    section = f"{begin}\n{text.strip()}\n{end}"
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    new = pattern.sub(lambda _: section, old) if pattern.search(old) else f"{old.rstrip()}\n\n{section}\n"
    page.write_text(new)

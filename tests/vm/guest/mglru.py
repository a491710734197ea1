"""Switches the kernel's multi-generational LRU (MGLRU), which some distributions have on."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ENABLED = Path("/sys/kernel/mm/lru_gen/enabled")


@contextmanager
def mglru(wanted: str) -> Iterator[None]:
    """Have it `on` or `off` until the end of the block, or as the kernel starts: any other word."""
    before = ENABLED.read_text()
    if wanted in {"on", "off"}:
        ENABLED.write_text("y" if wanted == "on" else "n")
    yield
    ENABLED.write_text(before)

"""A directory with a journal that this process may not read."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked_directory(below: Path, journal: bytes) -> Iterator[Path]:
    """Give a state directory below another one; root becomes another user meanwhile."""
    (folder := below / "state").mkdir()
    (folder / "journal.jsonl").write_bytes(journal)
    folder.chmod(0)
    user = os.geteuid()
    if user == 0:
        below.chmod(0o755)
        os.seteuid(65534)
    try:
        yield folder
    finally:
        if user == 0:
            os.seteuid(user)
        folder.chmod(0o700)

"""Removes what an earlier run has left, also where it is deeper than Python's stack.

pytest removes the temporary folders of earlier runs at the end of a run. Some tests make trees of more than a thousand levels and
remove them themselves. A run that was killed in between left one, and each later run failed at its end, after all its tests.
"""

import subprocess
from pathlib import Path

from _pytest import pathlib

_remove = pathlib.rm_rf


def remove(path: Path) -> None:
    """Remove a folder with `rm`; what that may not remove, as pytest does, which changes permissions."""
    subprocess.run(["rm", "-rf", "--", str(path)], check=False, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if path.exists():
        _remove(path)

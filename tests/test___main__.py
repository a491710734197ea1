"""`python -m evictd` runs the command line."""

import subprocess
import sys
from pathlib import Path

from evictd import __version__


def test_the_module_runs_the_command_line() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "evictd", "--version"],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent.parent / "src",
        timeout=60,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (0, f"evictd {__version__}\n")

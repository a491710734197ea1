"""Runs a module of the tests on a copy of evictd's source in which lines were added."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.stories import ROOT


def run_on_copy(folder: Path, added: Mapping[str, tuple[tuple[str, str], ...]], module: str, argument: Path) -> Any:
    """Add lines, by file each with the beginning of the line that comes after it; return what the module prints, from JSON."""
    source = folder / "src"
    shutil.copytree(ROOT / "src" / "evictd", source / "evictd", ignore=shutil.ignore_patterns("__pycache__"))
    for name, lines in added.items():
        path = source / "evictd" / name
        text = path.read_text()
        for line, before in lines:
            assert text.count(before) == 1, before
            text = text.replace(before, line + before)
        path.write_text(text)
    ended = subprocess.run(
        [sys.executable, "-m", module, str(argument)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(source), str(ROOT)))},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)

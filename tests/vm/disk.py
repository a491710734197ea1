"""Transfers files to the machine and results from it on a second disk, without mounts or root (`mke2fs -d`, `debugfs`).

In: this checkout's `tests`, `bench` and `deploy`, the job, and what `package.py` builds for the guest's Python: `src`, the Debian
packages, and the installed packages that evictd and pytest need.
"""

import shutil
import subprocess
from collections.abc import Iterable, Sequence
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

REPOSITORY = Path(__file__).parents[2]
# The machine has no API server, and the kubernetes package is larger than all the others together.
LEFT_OUT = frozenset({"kubernetes"})
TEST_TOOLS = ("pytest", "pytest-timeout")
NOT_WANTED = shutil.ignore_patterns("*.pyc", "data", "vectors")


def pack(disk: Path, stage: Path, job_arguments: Sequence[str], parts: Path) -> None:
    """Fill `stage` with all that the job needs, `parts` included, and make the ext4 image `disk` of it (sparse)."""
    shutil.copytree(parts, stage)
    (stage / "out").mkdir()
    for name in ("tests", "bench", "deploy"):
        shutil.copytree(REPOSITORY / name, stage / name, ignore=NOT_WANTED)
    shutil.copy2(REPOSITORY / "pyproject.toml", stage)
    shutil.copy2(REPOSITORY / "tests" / "vm" / "job.sh", stage)
    earlyoom = REPOSITORY / "build/earlyoom/root/usr/bin/earlyoom"
    if earlyoom.exists():  # for `bench_oom.py` and `bench_reaction.py`
        shutil.copy2(earlyoom, stage)
    (stage / "arguments").write_text("".join(f"{argument}\n" for argument in job_arguments))
    subprocess.run(
        ["mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-d", stage, disk, "512M"],
        check=True,
        stdout=subprocess.DEVNULL,
    )


def unpack_results(disk: Path, to: Path) -> None:
    """Copy `/out` of the image to the folder `to`."""
    to.mkdir(parents=True, exist_ok=True)
    subprocess.run(["debugfs", "-R", f"rdump /out {to}", disk], check=True, capture_output=True)


def closure(roots: Iterable[str]) -> list[str]:
    """Return the names of the installed distributions that the roots need, extras left out; sorted."""
    found: set[str] = set()
    waiting = [canonicalize_name(name) for name in roots]
    while waiting:
        name = waiting.pop()
        if name in found or name in LEFT_OUT:
            continue
        found.add(name)
        needs = (Requirement(text) for text in distribution(name).requires or ())
        waiting += [
            canonicalize_name(need.name) for need in needs if need.marker is None or need.marker.evaluate({"extra": ""})
        ]
    return sorted(found)

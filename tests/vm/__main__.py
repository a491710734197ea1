"""`python -m tests.vm [pytest arguments]`: the checks that only a cgroup v2 machine under systemd can show.

Builds the machine if it is not there, boots it once, runs tests/vm/guest inside, prints `N passed, N failed`.
What the guest wrote (junit.xml, its journal) is kept in build/vm.
"""

import shutil
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

from tests.vm import build, cache, disk, machine

LIMIT_SECONDS = 460
"""All of it, one-time build aside, is to take at most eight minutes."""
RESULTS = disk.REPOSITORY / "build" / "vm"


def main(job_arguments: list[str]) -> int:
    """Run it all; 0 when every check passed."""
    build.ensure_programs()
    root = cache.cache_root()
    cache.sweep(root)
    image = build.ensure_image()
    with cache.temporary(root) as work:
        data_disk = work / "data.img"
        disk.pack(data_disk, work / "stage", job_arguments)
        shutil.rmtree(work / "stage")
        took = machine.boot(image, data_disk, limit_seconds=LIMIT_SECONDS)
        shutil.rmtree(RESULTS, ignore_errors=True)
        disk.unpack_results(data_disk, RESULTS)
    return report(RESULTS / "out", took)


def report(out: Path, took: float | None) -> int:
    """Print the totals of the guest's pytest and give the exit status."""
    junit = out / "junit.xml"
    if took is None or not junit.exists():
        why = "was not done in time" if took is None else "left no results"
        print(f"test-vm: the machine {why}; see {out}")
        return 1
    totals = [suite.attrib for suite in ET.parse(junit).getroot().iter("testsuite")]
    tests, failed, errors, skipped = (
        sum(int(suite[key]) for suite in totals) for key in ("tests", "failures", "errors", "skipped")
    )
    figures = out / "figures.txt"
    print(figures.read_text() if figures.exists() else "", end="")
    up = (out / "boot-seconds").read_text().strip()
    passed = tests - failed - errors - skipped
    print(
        f"test-vm: {passed} passed, {failed + errors} failed, {skipped} skipped (guest up in {up} s, {took:.0f} s in all)"
    )
    return 0 if passed and not failed + errors + skipped else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

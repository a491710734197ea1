"""Runs the tests that need a cgroup v2 machine under systemd: `python -m tests.vm [pytest arguments]`.

Builds the machine if it is not there, boots it once, runs tests/vm/guest inside, prints `N passed, N failed`.
The guest's files (junit.xml, its journal) are copied to build/vm.
"""

import shutil
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

from tests.vm import build, cache, disk, machine, package

LIMIT_SECONDS = 1200
"""It takes seven minutes on two quiet cores, one-time build aside; a busy machine does not have them."""
RESULTS = disk.REPOSITORY / "build" / "vm"


def main(job_arguments: list[str], *, limit_seconds: int = LIMIT_SECONDS, memory_mib: int = machine.MEMORY_MIB) -> int:
    """Run it all; 0 when every check passed."""
    build.ensure_programs()
    root = cache.cache_root()
    cache.sweep(root)
    image = build.ensure_image()
    packages = package.ensure()
    with cache.temporary(root) as work:
        data_disk = work / "data.img"
        disk.pack(data_disk, work / "stage", job_arguments, packages)
        shutil.rmtree(work / "stage")
        took = machine.boot(image, data_disk, limit_seconds=limit_seconds, memory_mib=memory_mib)
        shutil.rmtree(RESULTS, ignore_errors=True)
        disk.unpack_results(data_disk, RESULTS)
    return report(RESULTS / "out", took)


def report(out: Path, took: float | None) -> int:
    """Print the totals of the guest's pytest and return the exit status."""
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

"""Runs the tests that need a cgroup v2 machine under systemd: `python -m tests.vm [--build | --record] [pytest arguments]`.

Builds the machine if it is not there, boots it once, runs tests/vm/guest inside, prints `N passed, N failed`.
The guest's files (junit.xml, its journal) are copied to build/vm/RELEASE. EVICTD_VM_DIST is the machine's release of Debian.
With `--build` it is only built; with `--record` the result is written into the table of docs/compatibility.md.
"""

import os
import re
import shutil
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

from tests.tools.tested import Row, record
from tests.vm import build, cache, disk, machine, package

LIMIT_SECONDS = 2400
"""It takes ten minutes on a quiet core, one-time build aside; a busy machine does not have it: EVICTD_VM_LIMIT."""
RESULTS = disk.REPOSITORY / "build" / "vm"
_VERSION = re.compile(r"\d+(?:\.\d+)+|(?<=systemd )\d+")


def main(job_arguments: list[str], *, limit_seconds: int = LIMIT_SECONDS, memory_mib: int = machine.MEMORY_MIB) -> int:
    """Run it all; 0 when every check passed."""
    image, parts = prepare()
    root = cache.cache_root()
    with cache.temporary(root) as work:
        data_disk = work / "data.img"
        disk.pack(data_disk, work / "stage", job_arguments, parts)
        shutil.rmtree(work / "stage")
        took = machine.boot(image, data_disk, limit_seconds=limit_seconds, memory_mib=memory_mib)
        shutil.rmtree(results(), ignore_errors=True)
        disk.unpack_results(data_disk, results())
    return report(results() / "out", took)


def results() -> Path:
    """Return where the files of this release's guest are copied to."""
    return RESULTS / build.distribution()


def prepare() -> tuple[build.Image, Path]:
    """Return the machine's disk and what is built for its Python; both are built if they are not in the cache."""
    build.ensure_programs()
    cache.sweep(cache.cache_root())
    return build.ensure_image(), package.ensure()


def report(out: Path, took: float | None) -> int:
    """Print the totals of the guest's pytest and return the exit status."""
    junit = out / "junit.xml"
    if took is None or not junit.exists():
        why = "was not done in time" if took is None else "left no results"
        print(f"test-vm: the machine {why}; see {out}")
        return 1
    passed, failed, skipped = counts(out)
    figures = out / "figures.txt"
    print(figures.read_text() if figures.exists() else "", end="")
    up = (out / "boot-seconds").read_text().strip()
    print(f"test-vm: {passed} passed, {failed} failed, {skipped} skipped (guest up in {up} s, {took:.0f} s in all)")
    return 0 if passed and not failed + skipped else 1


def counts(out: Path) -> tuple[int, int, int]:
    """Count in the guest's results what passed, failed and was skipped."""
    totals = [suite.attrib for suite in ET.parse(out / "junit.xml").getroot().iter("testsuite")]
    tests, failures, errors, skipped = (
        sum(int(suite[key]) for suite in totals) for key in ("tests", "failures", "errors", "skipped")
    )
    return tests - failures - errors - skipped, failures + errors, skipped


def row(release: str, out: Path) -> Row:
    """Return the row of a release: the guest's versions and results."""
    linux, systemd, containerd, runc, python = (
        found[0] if (found := _VERSION.search(line)) else "?" for line in (out / "versions").read_text().splitlines()
    )
    return Row(
        release=release,
        tests="test-vm",
        linux=f"{linux}, cgroup v2",
        systemd=systemd,
        runtime=f"containerd {containerd}, runc {runc}",
        python=python,
        results=dict(zip(("passed", "failed", "skipped"), counts(out), strict=True)),
    )


def run(arguments: list[str]) -> int:
    """Do what the command line asks for."""
    job = [each for each in arguments if each not in {"--build", "--record"}]
    if "--build" in arguments:
        prepare()
        return 0
    status = main(job, limit_seconds=int(os.environ.get("EVICTD_VM_LIMIT", LIMIT_SECONDS)))
    if "--record" in arguments and (results() / "out/junit.xml").exists():
        record(row(build.distribution(), results() / "out"))
    return status


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))

"""Runs `make test-node` on each container runtime, and writes the rows of docs/compatibility.md (`make node-matrix`).

    python -m tests.tools.runtimes [containerd1] [containerd2] [crio]

Exit status 1: a test failed or no test ran; 2: an unknown runtime.
"""

import os
import platform
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from evictd_testnode.binaries import default_cache
from evictd_testnode.tool import run_tool
from tests.binaries import RUNTIME, find_newer_binaries, node_binaries
from tests.tools.matrix import counts
from tests.tools.tested import PAGE, Row, record

RUNTIMES = ("containerd1", "containerd2", "crio")
_VERSION = re.compile(r"\d+(?:\.\d+)+")


def versions(runtime: str) -> str:
    """Return the versions of the programs that `make test-node RUNTIME=...` runs."""
    cache = default_cache()
    found = node_binaries(cache, runtime)
    if runtime == "crio":
        from tests.crio.runtime import unpack

        programs = {"CRI-O": [unpack(found.runc) / "crio"]}
    else:
        newer = find_newer_binaries(cache) if runtime == "containerd1" else None
        programs = {"containerd": [each.containerd for each in (found, newer) if each is not None]}
    programs["runc"] = [found.runc]
    return ", ".join(f"{name} {' and '.join(map(_version, paths))}" for name, paths in programs.items())


def _version(program: Path) -> str:
    found = _VERSION.search(run_tool(program, "--version"))
    return found[0] if found else "?"


def cgroups(root: Path = Path("/sys/fs/cgroup")) -> str:
    """Return the version of cgroups that the tests run under."""
    return "cgroup v2" if (root / "cgroup.controllers").exists() else "cgroup v1"


def run_runtime(runtime: str) -> bool:
    """Run the tests on one runtime and write their row; whether all passed."""
    lines = []
    command = ("make", "test-node", f"RUNTIME={runtime}", "ARGS=")  # make would pass its own ARGS on
    with subprocess.Popen(
        command, cwd=PAGE.parents[1], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, errors="replace"
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    results = counts("".join(lines))
    if not results:
        return False
    record(row(runtime, results))
    return process.returncode == 0 and bool(results["passed"])


def row(runtime: str, results: Mapping[str, int]) -> Row:
    """Return the row of a run on this machine."""
    kernel = _VERSION.search(platform.release())
    return Row(
        release=platform.freedesktop_os_release()["VERSION_CODENAME"],
        tests=f"test-node RUNTIME={runtime}",
        linux=f"{kernel[0] if kernel else '?'}, {cgroups()}",
        runtime=versions(runtime),
        python=platform.python_version(),
        results=results,
    )


def main(arguments: Sequence[str]) -> int:
    """Run the tests on each runtime, one after the other."""
    unknown = [each for each in arguments if each not in RUNTIMES]
    for each in unknown:
        print(f"make node-matrix: {each}: no runtime; {', '.join(RUNTIMES)}", file=sys.stderr)
    if unknown:
        return 2
    os.environ.pop(RUNTIME, None)  # each run has its own
    failed = [each for each in arguments or RUNTIMES if not run_runtime(each)]
    print(f"runtimes: {'failed on ' + ', '.join(failed) if failed else 'all passed'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

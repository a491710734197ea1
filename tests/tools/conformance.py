"""Writes build/conformance.md: what this commit was tested with, and the results (`make conformance`).

    python -m tests.tools.conformance [LOG]

Parity and incidents are run anew, in half a minute. LOG is the output of `make test-all`, of which the results of each level are
read; `.ci/run` keeps it. The table of distributions is that of docs/compatibility.md. Exit status 1: something did not pass.
"""

import platform
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from evictd import __version__
from evictd.core.model.config import Policy
from tests.tools.matrix import ROOT, counts
from tests.tools.tested import PAGE
from tools.incidents import incident_files, play_incident

REPORT = ROOT / "build/conformance.md"
_END = re.compile(r"^seconds:((?: \S+ \d+)+)\n", re.MULTILINE)
_MATRIX = re.compile(r"^\| Distribution .*\n(?:\|.*\n)+", re.MULTILINE)
_VERDICT = re.compile(r"^(\d+) passed, (\d+) failed$", re.MULTILINE)


def levels(log: str) -> Iterator[tuple[str, Counter[str], int]]:
    """Yield name, results and seconds of each level of `make test-all`; one that did not end is not there."""
    begun = 0
    for found in _END.finditer(log):
        *_, name, seconds = found[1].split()
        yield name, counts(log[begun : found.start()]), int(seconds)
        begun = found.end()


def level_rows(log: str) -> list[str]:
    """Return a line of the report for each level."""
    return [
        f"| `make {name}` | {result['passed'] or '-'} | {result['failed']} | {result['skipped']} | {seconds} |"
        for name, result, seconds in levels(log)
    ]


def parity() -> tuple[int, int]:
    """Compare every recorded answer of the kubelet; how many are the same, and how many are not."""
    command = (sys.executable, "-m", "tests.parity.compare")
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    found = _VERDICT.search(done.stdout)
    assert found, done.stdout[-400:]
    return int(found[1]), int(found[2])


def incidents() -> tuple[int, dict[Policy, int], list[str]]:
    """Play every incident; how many there are, the innocent pods lost by policy, and the files that end in an unexpected way."""
    lost = dict.fromkeys((Policy.STANDARD, Policy.KUBELET), 0)
    played = [play_incident(path) for path in incident_files()]
    for each in played:
        for policy, account in each.accounts.items():
            lost[policy] += account.regret
    return len(played), lost, [each.path.stem for each in played if not each.as_marked]


def commit() -> str:
    """Return the commit, and whether the tree has changes beside it."""

    def git(*arguments: str) -> str:
        return subprocess.run(["git", "-C", str(ROOT), *arguments], check=True, capture_output=True, text=True).stdout

    changed = " with uncommitted changes" if git("status", "--porcelain").strip() else ""
    return git("rev-parse", "HEAD").strip() + changed


def report(log: str | None) -> tuple[str, bool]:
    """Return the report, and whether all that was run passed."""
    same, different = parity()
    number, lost, unexpected = incidents()
    matrix = _MATRIX.search(PAGE.read_text(encoding="utf-8"))
    system = platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    lines = [
        f"# Conformance of evictd {__version__}",
        "",
        (
            f"Commit {commit()}, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {system}, Linux {platform.release()}, "
            f"Python {platform.python_version()}."
        ),
        "",
        "| What | Result |",
        "|---|---|",
        f"| parity: recorded answers of the kubelet 1.36, policy Kubelet | {same} the same, {different} different |",
        (
            f"| worlds: {number} incidents, innocent pods lost beyond what could not be avoided | "
            f"{lost[Policy.STANDARD]} with policy Standard, {lost[Policy.KUBELET]} with policy Kubelet |"
        ),
        f"| worlds that end in an unexpected way | {', '.join(unexpected) or 'none'} |",
        "",
    ]
    if log is None:
        lines += ["The levels of tests were not run for this report.", ""]
    else:
        lines += ["| Level | passed | failed | skipped | seconds |", "|---|---|---|---|---|", *level_rows(log), ""]
        lines += ["`make test-slow` has the table of faults and the laws over generated worlds.", ""]
    lines += ["On other distributions and runtimes, as last recorded:", "", matrix[0] if matrix else "none", ""]
    failed = different or unexpected or any(result["failed"] for _, result, _ in levels(log or ""))
    return "\n".join(lines), not failed


def main(arguments: Sequence[str]) -> int:
    """Write the report and print where it is."""
    logs = [Path(each) for each in arguments]
    if len(logs) > 1 or not all(each.is_file() for each in logs):
        print(f"make conformance: no such log: {' '.join(arguments)}", file=sys.stderr)
        return 2
    text, passed = report(logs[0].read_text(encoding="utf-8", errors="replace") if logs else None)
    REPORT.parent.mkdir(exist_ok=True)
    REPORT.write_text(text, encoding="utf-8")
    print(f"{REPORT}: {'all passed' if passed else 'NOT all passed'}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

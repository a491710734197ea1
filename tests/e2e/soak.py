"""Runs each story repeatedly: `python -m tests.e2e.soak [TIMES] [NAME PART]` (`make e2e-soak`).

Every scenario has to pass 20 times in a row. The report gives, for each, the time from the first reading that met a threshold to
the first action on it, and to the reading at which the condition was gone (transition period included), from evictd's
journals.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

TIMES = 20
ROOT = Path(__file__).parents[2]


def main(arguments: list[str]) -> int:
    """Run and report; exit status 1 if anything failed."""
    times = int(arguments[0]) if arguments else TIMES
    chosen = ["-k", arguments[1]] if len(arguments) > 1 else []
    failed = 0
    with tempfile.TemporaryDirectory(prefix="evictd-soak-") as folder:
        for number in range(1, times + 1):
            argv = [sys.executable, "-m", "pytest", "-q", "tests/e2e", *chosen]
            environment = {**os.environ, "EVICTD_STORY_TIMES": folder}
            done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False, env=environment)
            failed += done.returncode != 0
            verdict = "passed" if done.returncode == 0 else "FAILED"
            print(f"round {number} of {times}: {verdict}: {done.stdout.strip().splitlines()[-1]}", flush=True)
            if done.returncode:
                print(done.stdout[-8000:])
        print(report(Path(folder)))
    if not chosen:
        failed += _calm_day()
    return 1 if failed else 0


def _calm_day() -> int:
    """Run ten thousand cycles without pressure and print what grew; returns 1 if anything did."""
    argv = [sys.executable, "-m", "pytest", "-q", "-s", "--timeout=3600", "tests/e2e/test_calm_day.py"]
    environment = {**os.environ, "EVICTD_CALM_CYCLES": "10000"}
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False, env=environment)
    print("\n".join(line for line in done.stdout.splitlines() if "cycles beside" in line or done.returncode))
    return int(done.returncode != 0)


def report(folder: Path) -> str:
    """Make the table of times out of what the stories left in the folder."""
    rows: dict[str, list[dict[str, float]]] = {}
    for path in sorted(folder.glob("*.json")):
        noted = json.loads(path.read_text())
        rows.setdefault(noted.pop("story"), []).append(noted)
    lines = [f"{'story':<78}{'runs':>5}  {'crossing to action, s':>26}  {'crossing to relief, s':>26}"]
    for story, noted in sorted(rows.items()):
        cells = [_spread([one[key] for one in noted if key in one]) for key in ("action", "relief")]
        lines.append(f"{story[:77]:<78}{len(noted):>5}  {cells[0]:>26}  {cells[1]:>26}")
    return "\n".join(lines)


def _spread(seconds: list[float]) -> str:
    if not seconds:
        return "-"
    return f"{statistics.median(seconds):.2f} ({min(seconds):.2f} to {max(seconds):.2f})"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

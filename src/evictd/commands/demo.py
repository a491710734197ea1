"""Implements `evictd demo`: shows on a disposable node that runs out of disk space what evictd does.

The node is real (`evictd_testnode`) and needs root and a container runtime. Without them, with `--simulated`, or where that
package is not installed the command simulates a node that runs out of memory instead and prints the reason.
"""

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

from evictd.commands.inputs.source import check_plot
from evictd.errors import ExitCode

PROGRAM = "evictd"
WORLD = "job-beside-a-database.yaml"
"""The world that is simulated where no node can be made."""
RESULT = (
    "Result: evictd evicted default/job at 53.3s, before memory ran out. Without evictd the kernel would have killed "
    "default/database at 1m13.3s."
)
"""What came of that world."""
NEXT = (
    (f"evictd simulate config/worlds/{WORLD}", "memory ends"),
    ("evictd simulate config/scenarios/ten-minutes.yaml", "disk and memory"),
    ("evictd check config/evictd.yaml", "a configuration on this machine"),
    ("evictd explain", "which pod would go first, and why; needs a runtime"),
    ("docs/getting-started.md", "from a dry run on your node to evictions, and back"),
)
"""Commands and pages to try after the demonstration, with what each shows."""
_NOT_AFTER_A_SIMULATION = (NEXT[0][0], "evictd explain")
"""The first one's output has just been shown; the second needs the runtime that is mostly missing."""
_PLOT, _SIMULATED_PLOT = Path("build/demo.svg"), Path("build/demo-simulated.svg")
"""Two files: a simulation does not draw over the plot of a real run."""
_NOT_INSTALLED = "this installation is without evictd_testnode, which a checkout, the wheel and the Debian package have"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("--simulated", action="store_true", help="simulate a node, also as root")
    parser.add_argument(
        "--plot",
        type=Path,
        metavar="FILE",
        help=f"where the plot goes (default: {_PLOT}, simulated {_SIMULATED_PLOT}); the journal of a real node is kept beside it",
    )


def run(args: argparse.Namespace) -> ExitCode:
    """Run the demonstration on a real node, or simulate it; raises `InputError` for a plot that cannot be drawn."""
    check_plot(args.plot)
    if args.simulated:
        reason = "--simulated"
    elif importlib.util.find_spec("evictd_testnode") is None:
        reason = _NOT_INSTALLED
    else:
        from evictd_testnode import command  # noqa: PLC0415 - not a part of every installation

        reason = command.reason_against()
        if not reason:
            plot = args.plot or _PLOT
            code, conclusion = command.run(plot)
            journal = command.kept_journal(plot)
            _print_next_steps((*(_of_journal(journal) if journal.exists() else ()), *NEXT), margin=" ")
            print(*conclusion, sep="\n", flush=True)  # noqa: T201 - a command's output
            return code
    introduction = textwrap.wrap(f"This is the simulated node ({reason}).", _columns())
    print(*introduction, sep="\n", flush=True)  # noqa: T201 - a command's output
    code = _simulate(args.plot or _SIMULATED_PLOT)
    _print_next_steps([each for each in NEXT if each[0] not in _NOT_AFTER_A_SIMULATION])
    if code is ExitCode.DONE:
        print("", *textwrap.wrap(RESULT, _columns()), sep="\n", flush=True)  # noqa: T201 - a command's output
    return code


def next_steps(
    columns: int, margin: str = "", program: str = PROGRAM, steps: Sequence[tuple[str, str]] = NEXT
) -> list[str]:
    """Return the lines of the commands to try next, each with its purpose beside it, or below it where the columns are too few.

    `program` is what to type for evictd.
    """
    lines = [f"{margin}What to try next:"]
    for name, shows in steps:
        command = (
            f"{margin}  {program}{name.removeprefix(PROGRAM)}" if name.startswith(PROGRAM) else f"{margin}  {name}"
        )
        if len(beside := f"{command}  {shows}") <= columns:
            lines.append(beside)
            continue
        indent = f"{margin}      "
        lines += [command, *textwrap.wrap(shows, columns, initial_indent=indent, subsequent_indent=indent)]
    return lines


def program() -> str:
    """Return what to type for evictd: in a checkout the file in its virtual environment, which is not on the path."""
    file = Path(sys.executable).parent / PROGRAM
    if shutil.which(PROGRAM) is not None or not file.exists():
        return PROGRAM
    return str(file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file)


def _of_journal(journal: Path) -> tuple[tuple[str, str], ...]:
    """Return the step that reads the journal of the node that is gone."""
    shows = "the eviction that you saw: the ranking, what came back, what would have avoided it"
    return ((f"evictd incident --journal {journal}", shows),)


def _columns() -> int:
    return max(shutil.get_terminal_size().columns, 60)


def _print_next_steps(steps: Sequence[tuple[str, str]], margin: str = "") -> None:
    lines = next_steps(_columns(), margin, program(), steps)
    print("", *lines, sep="\n", flush=True)  # noqa: T201 - a command's output


def _simulate(plot_file: Path) -> ExitCode:
    argv = [sys.executable, "-m", "evictd", "simulate", str(_world())]
    if importlib.util.find_spec("matplotlib") is not None:  # an optional extra
        plot_file.parent.mkdir(parents=True, exist_ok=True)
        argv += ["--plot", str(plot_file)]
    environment = {**os.environ, "COLUMNS": str(_columns())}
    done = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=False, env=environment)  # noqa: S603 - no shell
    print(story(done.stdout), flush=True)  # noqa: T201 - a command's output
    return ExitCode(done.returncode)


def story(simulated: str) -> str:
    """Return what `evictd simulate` printed without its title and conclusion: a screen has no more lines.

    The number of cycles in which nothing changes, its last line, is left out as well.
    """
    lines = simulated.partition("\n\n")[0].rstrip("\n").split("\n")[1:]
    return "\n".join(lines[:-1] if lines and lines[-1].endswith("nothing changes") else lines)


def _world() -> Path:
    """Return the world's file: of this checkout, else of the installation."""
    checkout = Path(__file__).parents[3] / "config" / "worlds" / WORLD
    return checkout if checkout.exists() else Path(sys.prefix, "share/evictd/worlds", WORLD)

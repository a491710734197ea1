"""`evictd demo`: a disposable node is put under pressure, and one sees what evictd does about it.

Needs root, for the node is a real one. Without, or where no container runtime can be had, it says so and rehearses a recorded
node instead. Nothing is installed, and nothing is left behind but the plot.
"""

import argparse
import os
import sys
import threading
from pathlib import Path

from evictd.demo import watchman
from evictd.demo.binaries import default_cache, find_binaries
from evictd.demo.screen import WIDTH, Happening, Screen, frame, plot, say
from evictd.demo.story import (
    DISK_MIB,
    HOG,
    INNOCENTS,
    JOBS,
    THRESHOLD_MIB,
    Stage,
    check_alive,
    node_recipe,
    stage,
    start_evictd,
)
from evictd.demo.sweep import sweep
from evictd.demo.tool import run_tool
from evictd.errors import EvictdError, ExitCode

SCENARIO = Path("config/scenarios/disk-reclaim-then-evict.yaml")

_STEP_SECONDS = 0.2
_MOST_SECONDS = 100
_CALM_SECONDS = 2.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("--simulated", action="store_true", help="rehearse a recorded node, root or not")
    parser.add_argument(
        "--plot", type=Path, default=Path("build/demo.svg"), metavar="FILE", help="where the plot goes (%(default)s)"
    )


def run(args: argparse.Namespace) -> ExitCode:
    """Play the demonstration, or rehearse it."""
    reason = "you asked for it" if args.simulated else _reason_against()
    if not reason:
        try:
            binaries = find_binaries(default_cache())
        except EvictdError as error:
            reason = str(error)
        else:
            sweep()
            watchman.post()
            with stage(node_recipe(binaries)) as play:
                return _play(play, args.plot)
    print(f"This is the simulated node ({reason}).\n", flush=True)  # noqa: T201 - a command's own words
    return _rehearse(args.plot)


def _reason_against() -> str:
    if os.geteuid() != 0:
        return "a real one needs root: mounts, cgroups and a container runtime of its own"
    if "\toverlay\n" not in Path("/proc/filesystems").read_text(encoding="ascii"):
        return "this kernel has no overlayfs"
    return ""


def _rehearse(plot_file: Path) -> ExitCode:
    scenario = Path(__file__).parents[3] / SCENARIO
    argv = [sys.executable, "-m", "evictd", "simulate", str(scenario)]
    plot_file.parent.mkdir(parents=True, exist_ok=True)
    os.execv(sys.executable, [*argv, "--plot", str(plot_file)])  # noqa: S606 - an argument list of our own


class _Clock:
    """Seconds of the play, counted by its own steps: nothing here decides anything by them."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._event = threading.Event()

    def step(self) -> None:
        """Let a moment pass."""
        self._event.wait(_STEP_SECONDS)
        self.seconds += _STEP_SECONDS


def _play(play: Stage, plot_file: Path) -> ExitCode:
    screen = Screen(sys.stdout)
    happenings = [Happening(at=0.0, text=f"the node is up; {', '.join(r.name for r in (*INNOCENTS, *JOBS))} start")]
    samples: list[tuple[float, int]] = []
    try:
        relieved = _acts(play, screen, happenings, samples)
    finally:
        screen.close()
    screen.write(["", *_closing(play, happenings, samples, plot_file, live=screen.live)])
    return ExitCode.DONE if relieved else ExitCode.NO


def _acts(play: Stage, screen: Screen, happenings: list[Happening], samples: list[tuple[float, int]]) -> bool:
    """Go through the story until the pressure is gone and has stayed away; whether it came to that."""
    for recipe in (*INNOCENTS, *JOBS):
        play.run(recipe)
    clock, hog, calm_since = _Clock(), False, None
    start_evictd(play)
    jobs_done, told = False, 0
    while clock.seconds < _MOST_SECONDS:
        clock.step()
        check_alive(play)
        happenings += play.news(clock.seconds)
        jobs_done = jobs_done or play.finish_jobs()
        if jobs_done and not hog and clock.seconds > 3:
            play.run(HOG)
            hog = True
            happenings.append(Happening(at=clock.seconds, text=f"{HOG.name} starts, and fills the disk"))
        samples.append((clock.seconds, play.free_bytes()))
        screen.draw(frame(play.view(clock.seconds, happenings)))
        if not screen.live:
            screen.write([say(happening) for happening in happenings[told:]])
            told = len(happenings)
        over = any(happening.loud for happening in happenings) and not play.pressure()
        calm_since = (calm_since or clock.seconds) if over else None
        if calm_since is not None and clock.seconds - calm_since >= _CALM_SECONDS:
            return True
    return False


def _closing(
    play: Stage, happenings: list[Happening], samples: list[tuple[float, int]], plot_file: Path, *, live: bool
) -> list[str]:
    """Say what there was to see: the timeline, what was left of the disk over time, and where the plot is."""
    lines = [" the whole story", *(say(happening) for happening in happenings), ""] if live else []
    lines.append(f" what was left of {DISK_MIB} MiB (the line is the threshold of {THRESHOLD_MIB} MiB)")
    lines += plot(samples, capacity=DISK_MIB << 20, threshold=THRESHOLD_MIB << 20)
    lines += ["", f" {_draw(play, plot_file)}"]
    return [line if "\x1b" in line else line[:WIDTH] for line in lines]


def _draw(play: Stage, plot_file: Path) -> str:
    """Have evictd's own journal drawn; says where it is, or why there is none."""
    try:
        plot_file.parent.mkdir(parents=True, exist_ok=True)
        run_tool(sys.executable, "-m", "evictd", "replay", play.journal, "--plot", plot_file.absolute())
    except (EvictdError, OSError) as error:
        return f"no plot: {' '.join(str(error).split())[:80]}"
    return f"evictd's journal, decided again and drawn: {plot_file}"

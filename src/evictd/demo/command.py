"""Implements `evictd demo`: puts a disposable node under disk pressure and shows what evictd does.

The node is real and needs root and a container runtime. Without them, or with `--simulated`, the command simulates a recorded
node instead and prints the reason. Nothing is installed, and only the plot remains afterwards.
"""

import argparse
import importlib.util
import os
import sys
import threading
from pathlib import Path

from evictd.demo import cleanup_process
from evictd.demo.binaries import default_cache, find_binaries
from evictd.demo.screen import WIDTH, Screen, TimelineEvent, frame, plot, timeline_line
from evictd.demo.story import (
    DISK_MIB,
    HOG,
    JOBS,
    OTHER_PODS,
    THRESHOLD_MIB,
    DemoNode,
    check_alive,
    demo_node,
    node_recipe,
    start_evictd,
)
from evictd.demo.sweep import sweep
from evictd.demo.tool import run_tool
from evictd.errors import EvictdError, ExitCode

SCENARIO = "disk-reclaim-then-evict.yaml"

_STEP_SECONDS = 0.2
_MOST_SECONDS = 100
_CALM_SECONDS = 2.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("--simulated", action="store_true", help="simulate a recorded node, also as root")
    parser.add_argument(
        "--plot", type=Path, default=Path("build/demo.svg"), metavar="FILE", help="where the plot goes (%(default)s)"
    )


def run(args: argparse.Namespace) -> ExitCode:
    """Run the demonstration on a real node, or simulate it."""
    reason = "--simulated" if args.simulated else _reason_against()
    if not reason:
        try:
            binaries = find_binaries(default_cache())
        except EvictdError as error:
            reason = str(error)
        else:
            sweep()
            cleanup_process.start_cleanup_process()
            with demo_node(node_recipe(binaries)) as node:
                return _run(node, args.plot)
    print(f"This is the simulated node ({reason}).\n", flush=True)  # noqa: T201 - a command's output
    return _simulate(args.plot)


def _reason_against() -> str:
    if os.geteuid() != 0:
        return "a real node needs root for mounts, cgroups and a container runtime"
    if "\toverlay\n" not in Path("/proc/filesystems").read_text(encoding="ascii"):
        return "this kernel has no overlayfs"
    return ""


def _simulate(plot_file: Path) -> ExitCode:
    argv = [sys.executable, "-m", "evictd", "simulate", str(_scenario())]
    if importlib.util.find_spec("matplotlib") is not None:  # an optional extra
        plot_file.parent.mkdir(parents=True, exist_ok=True)
        argv += ["--plot", str(plot_file)]
    os.execv(sys.executable, argv)  # noqa: S606 - a fixed argument list, no shell


def _scenario() -> Path:
    """Return the scenario's file: of this checkout, else of the installation."""
    checkout = Path(__file__).parents[3] / "config" / "scenarios" / SCENARIO
    return checkout if checkout.exists() else Path(sys.prefix, "share/evictd/scenarios", SCENARIO)


class _Clock:
    """Counts the seconds of the demonstration by its steps, for display."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._event = threading.Event()

    def step(self) -> None:
        """Wait for one step."""
        self._event.wait(_STEP_SECONDS)
        self.seconds += _STEP_SECONDS


def _run(node: DemoNode, plot_file: Path) -> ExitCode:
    screen = Screen(sys.stdout)
    events = [TimelineEvent(at=0.0, text=f"the node is up; {', '.join(r.name for r in (*OTHER_PODS, *JOBS))} start")]
    samples: list[tuple[float, int]] = []
    try:
        relieved = _run_story(node, screen, events, samples)
    finally:
        screen.close()
    screen.write(["", *_summary(node, events, samples, plot_file, live=screen.live)])
    return ExitCode.DONE if relieved else ExitCode.NO


def _run_story(node: DemoNode, screen: Screen, events: list[TimelineEvent], samples: list[tuple[float, int]]) -> bool:
    """Run the story until the pressure has been gone for `_CALM_SECONDS`; returns False if it is not within `_MOST_SECONDS`."""
    for recipe in (*OTHER_PODS, *JOBS):
        node.run(recipe)
    clock, hog, calm_since = _Clock(), False, None
    start_evictd(node)
    jobs_done, written = False, 0
    while clock.seconds < _MOST_SECONDS:
        clock.step()
        check_alive(node)
        events += node.new_events(clock.seconds)
        jobs_done = jobs_done or node.finish_jobs()
        if jobs_done and not hog and clock.seconds > 3:
            node.run(HOG)
            hog = True
            events.append(TimelineEvent(at=clock.seconds, text=f"{HOG.name} starts to fill the disk"))
        samples.append((clock.seconds, node.free_bytes()))
        screen.draw(frame(node.view(clock.seconds, events)))
        if not screen.live:
            screen.write([timeline_line(event) for event in events[written:]])
            written = len(events)
        over = any(event.highlighted for event in events) and not node.pressure()
        calm_since = (calm_since or clock.seconds) if over else None
        if calm_since is not None and clock.seconds - calm_since >= _CALM_SECONDS:
            return True
    return False


def _summary(
    node: DemoNode, events: list[TimelineEvent], samples: list[tuple[float, int]], plot_file: Path, *, live: bool
) -> list[str]:
    """Return the final lines: the timeline, the available space over time, and the path of the plot."""
    lines = [" timeline", *(timeline_line(event) for event in events), ""] if live else []
    lines.append(f" available of {DISK_MIB}Mi (the line is the threshold of {THRESHOLD_MIB}Mi)")
    lines += plot(samples, capacity=DISK_MIB << 20, threshold=THRESHOLD_MIB << 20)
    lines += ["", f" {_draw(node, plot_file)}"]
    return [line if "\x1b" in line else line[:WIDTH] for line in lines]


def _draw(node: DemoNode, plot_file: Path) -> str:
    """Replay evictd's journal into a plot; returns a line with its path, or with the error."""
    try:
        plot_file.parent.mkdir(parents=True, exist_ok=True)
        run_tool(sys.executable, "-m", "evictd", "replay", node.journal, "--plot", plot_file.absolute())
    except (EvictdError, OSError) as error:
        return f"no plot: {' '.join(str(error).split())[:80]}"
    return f"evictd's journal, replayed and plotted: {plot_file}"
